// `info`: metadata of each model, and the role of each of its tensors.
#pragma once

#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/model/summary.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Rows by model, tensors in file order. Reads only the weights that may be copies of others.
/// `notes`: printed before the models' own notes.
void run_info(std::span<const Model> models, const Context& context, RowSink& sink,
              std::span<const std::string> notes = {});

/// This machine and the libraries in use, one row per property.
void run_system_info(std::string_view version, const Kernels& kernels, RowSink& sink);

}  // namespace attnscope
