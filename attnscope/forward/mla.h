// Queries, keys and values of multi-head latent attention.
#pragma once

#include <cstdint>
#include <functional>

#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

/// Keeps its matrices between layers.
class MlaAttention {
 public:
  /// From the attention's input (rows, D) to `qkv` (rows, H d + H d + H d_v): of every head the
  /// queries, then of every head the keys, then the values. The key that all heads share is the end
  /// of each head's. Nothing is rotated yet. `on_latents`: none, or who is shown the latents before
  /// their norms, those of queries (no data where they have none), and those of keys and values.
  using OnLatents = std::function<void(MatrixView<const float>, MatrixView<const float>)>;
  void run(const MlaWeights& weights, const Dimensions& dimensions, MatrixView<const float> input,
           MatrixView<float> qkv, const OnLatents& on_latents, const Compute& compute);

  /// The latent of queries that run() made last, after its norm; no data where they have none.
  MatrixView<const float> of_queries() const { return latent_.view(); }

 private:
  Matrix<float> down_, latent_, up_;
};

/// Numbers that run() keeps of each row; 0 for a model without latents.
std::int64_t mla_row_size(const Dimensions& dimensions);

}  // namespace attnscope
