// How large a model is.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

struct ModelSize {
  std::int64_t parameters = 0;                // shared and tied ones once
  std::int64_t kv_cache_bytes_per_token = 0;  // at 16 bits; 0 of an encoder
  /// To generate a token half way through the context: two for each element of a matrix that
  /// multiplies it, with the experts that it passes and the LM head, and those of attention to each
  /// token before it. Keys and values of latents are computed again for each, as in transformers.
  double flops_per_token = 0;
};

/// Of an encoder or decoder parameters of the whole model, the cache of its decoder, and its own
/// FLOPs.
ModelSize size_of(const Model& model);

/// Of the tensors that have the layer in their names.
std::int64_t parameters_of_layer(const Model& model, std::int64_t layer);

/// What size_of() counts of these layers: neither buffers nor repeated tensors.
std::int64_t removable_parameters(const Model& model, const std::vector<std::int64_t>& layers);

/// Products of a token with the matrices of each layer; the last: with the LM head.
std::vector<double> products_of(const Model& model);

/// FLOPs per token of a layer's scores and mixed values, half way through the context, with keys
/// and values of latents.
double flops_of_attention(const Model& model, std::int64_t layer);

/// The same of so many heads that do so many products with each earlier token.
double flops_of_attention(const Model& model, std::int64_t heads, std::int64_t elements);

}  // namespace attnscope
