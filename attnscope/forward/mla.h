// Queries, keys and values of multi-head latent attention (MLA).
#pragma once

#include <cstdint>
#include <functional>

#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

/// Computes MLA projections. Reuses its buffers between layers.
class MlaAttention {
 public:
  /// Computes `qkv` (rows, H d + H d + H d_v) from the attention's input (rows, D): queries of all
  /// heads, then keys, then values. The key part shared by all heads is the end of each head's key.
  /// Nothing is rotated yet. `on_latents`: may be empty. Called with the latents before their
  /// norms: of queries (no data if there is none), and of keys and values.
  using OnLatents = std::function<void(MatrixView<const float>, MatrixView<const float>)>;
  void run(const MlaWeights& weights, const Dimensions& dimensions, MatrixView<const float> input,
           MatrixView<float> qkv, const OnLatents& on_latents, const Compute& compute);

  /// Returns the query latent of the last run(), after its norm. No data if there is none.
  MatrixView<const float> of_queries() const { return latent_.view(); }

 private:
  Matrix<float> down_, latent_, up_;
};

/// Returns the number of values per row that run() keeps. 0 for models without MLA.
std::int64_t mla_row_size(const Dimensions& dimensions);

}  // namespace attnscope
