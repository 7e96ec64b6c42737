// AltUp: the residual streams of Gemma 3n, and what its layers add to them. See AltUpRule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// All streams of one pass. `active` in each function is the active stream (rows, D), which the
/// pass keeps; the others are kept here.
class AltUpStreams {
 public:
  /// Makes the streams from the embedding in `active`, which becomes the active one.
  void start(const AltUpSpec& spec, std::span<const SharedLinear> projections,
             MatrixView<float> active, const Compute& compute);
  /// Replaces all streams by their predictions, before a layer.
  void predict(const AltUpWeights& weights, MatrixView<float> active, const Compute& compute);
  /// Corrects the predictions by the layer's output, in `active`.
  void correct(const AltUpWeights& weights, MatrixView<float> active, const Compute& compute);
  /// Returns what the per-layer input reads: the active stream times its factor. Valid until the
  /// next call.
  MatrixView<const float> scaled(const AltUpWeights& weights, MatrixView<const float> active);
  /// Adds a layer's term to all streams but the first.
  void add(MatrixView<const float> term, MatrixView<float> active);
  /// Replaces `active` by the mean of all streams after their last projections.
  void merge(std::span<const SharedLinear> projections, MatrixView<float> active,
             const Compute& compute);

 private:
  /// Stream k; the active one is `active`.
  MatrixView<float> stream(std::int64_t number, MatrixView<float> active) {
    return number == active_ ? active : streams_[static_cast<std::size_t>(number)].view();
  }
  MatrixView<float> modalities(const AltUpWeights& weights, MatrixView<const float> active,
                               const Compute& compute);

  std::int64_t active_ = 0;
  std::vector<Matrix<float>> streams_;  // that of the active one is its prediction
  Matrix<float> normed_, modalities_, coefficients_;
};

/// Computes the low-rank residual: stream = (stream + input + norm(right left input)) / √2.
void add_laurel(const LaurelWeights& weights, MatrixView<const float> input,
                MatrixView<float> stream, const Compute& compute);

/// Zeroes small gates: g = max(0, g − mean − cutoff · standard deviation), for each row.
void cut_gates(double cutoff, MatrixView<float> gates);

}  // namespace attnscope
