// What a layer adds to the stream by each token itself (Gemma 4).
#pragma once

#include <span>

#include "attnscope/base/activation.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

/// Keeps its memory from one layer to the next.
class PerLayerInput {
 public:
  /// stream += what PerLayerInputRule says. `embedding`: what entered layer 0; both (rows, D) of
  /// all sequences, one after another.
  void add(const PerLayerInputWeights& weights, Activation activation,
           std::span<const TokenIds> sequences, MatrixView<const float> embedding,
           MatrixView<float> stream, const Compute& compute);

 private:
  Matrix<float> input_, narrow_, change_;
};

}  // namespace attnscope
