// `info`: the facts of each model and what each of its tensors is.
#pragma once

#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/model/summary.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Rows: model by model, tensors in the order of their files. Reads the weights that may be copies
/// of others, and no more. `notes`: shown before the models' own.
void run_info(std::span<const Model> models, const Context& context, RowSink& sink,
              std::span<const std::string> notes = {});

/// This machine and the libraries in use, one row for each.
void run_system_info(std::string_view version, const Kernels& kernels, RowSink& sink);

}  // namespace attnscope
