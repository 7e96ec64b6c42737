// The size of a model.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

struct ModelSize {
  std::int64_t parameters = 0;                // shared and tied parameters count once
  std::int64_t kv_cache_bytes_per_token = 0;  // at 16 bits; 0 for an encoder
  /// FLOPs per token, generating halfway through the context. Counts two per matrix element that is
  /// multiplied with the token, including routed experts and the LM head, plus attention to the
  /// earlier tokens. With MLA, keys and values of earlier tokens are recomputed from their latents,
  /// as in transformers.
  double flops_per_token = 0;
};

/// For an encoder or decoder: parameters of the whole model, KV cache of the decoder, and FLOPs of
/// this stack.
ModelSize size_of(const Model& model);

/// Parameters of the tensors that have the layer in their names.
std::int64_t parameters_of_layer(const Model& model, std::int64_t layer);

/// Parameters of these layers as size_of() counts them, without buffers and tied copies.
std::int64_t removable_parameters(const Model& model, const std::vector<std::int64_t>& layers);

/// Multiplications of a token with the matrices of each layer. The last entry is the LM head.
std::vector<double> products_of(const Model& model);

/// FLOPs per token for attention scores and weighted values of one layer, halfway through the
/// context. With MLA, includes keys and values recomputed from latents.
double flops_of_attention(const Model& model, std::int64_t layer);

/// The same for `heads` heads with `elements` multiplications per head and earlier token.
double flops_of_attention(const Model& model, std::int64_t heads, std::int64_t elements);

}  // namespace attnscope
