// The spectrum of a matrix that a program has in memory.
#pragma once

#include "attnscope/analyses/spectrum.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/context.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// What `spectrum` says of one tensor of a file, under the name "array". `matrix` has two axes,
/// neither empty, and a dtype of class `real`; it is read where it lies. Throws as
/// run_tensor_spectrum() does.
void run_array_spectrum(const TensorView& matrix, const Record& options, const Context& context,
                        RowSink& sink);

}  // namespace attnscope
