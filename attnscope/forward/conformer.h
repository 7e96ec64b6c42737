// The parts of a Conformer layer other than its attention and its second MLP: see ConformerRule.
#pragma once

#include "attnscope/base/activation.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Throws like TensorReader.
ConformerWeights read_conformer(const TensorReader& reader, const ConformerSpec& spec,
                                std::int64_t layer);

/// Adds the first MLP to the residual stream.
void add_first_mlp(const ConformerWeights& weights, const ConformerSpec& spec,
                   Activation activation, MatrixView<float> stream, const Compute& compute);

/// Adds the convolution module to the residual stream (rows, D).
void add_convolution_module(const ConformerWeights& weights, Activation activation,
                            const SequenceRows& rows, MatrixView<float> stream,
                            const Compute& compute);

}  // namespace attnscope
