// `info`: metadata of each model, and the role of each of its tensors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnscope/engine/context.h"
#include "attnscope/model/summary.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Rows by model, tensors in file order. Reads only the weights that may be copies of others.
/// `notes`: printed before the models' own notes.
void run_info(std::span<const Model> models, const Context& context, RowSink& sink,
              std::span<const std::string> notes = {});

/// A checkpoint that no config describes.
struct UndescribedCheckpoint {
  const Checkpoint& checkpoint;
  std::string name;
};

/// Rows by tensor, in file order, without roles.
void run_tensor_list(const UndescribedCheckpoint& of, std::span<const std::string> notes,
                     RowSink& sink);

/// This machine and the libraries in use, one row per property.
void run_system_info(std::string_view version, const Kernels& kernels, RowSink& sink);

}  // namespace attnscope
