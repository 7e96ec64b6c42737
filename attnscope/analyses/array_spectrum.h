// The spectrum of a matrix that a program has in memory.
#pragma once

#include "attnscope/analyses/spectrum.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/context.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// What `spectrum` says of one tensor of a file, under the name "array". `matrix` has two axes,
/// neither empty, and a dtype of class `real`; it is read where it lies. Uses the request's
/// thresholds, ranks and values; Error(usage) for a rank that is a share of a model's width.
void run_array_spectrum(const TensorView& matrix, const SpectrumRequest& request,
                        const Context& context, RowSink& sink);

}  // namespace attnscope
