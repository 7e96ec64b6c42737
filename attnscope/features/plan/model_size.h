// How large a model is, and how large a choice would leave it.
#pragma once

#include <cstdint>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct ModelSize {
  std::int64_t parameters = 0;                // shared and tied ones once
  std::int64_t kv_cache_bytes_per_token = 0;  // at 16 bits; 0 of an encoder
  /// To generate a token half way through the context: two for each element of a matrix that it is
  /// multiplied by, experts that it passes and the head with them, and for what heads do with each
  /// token before it. Latents of those are made keys and values anew, as stock transformers does.
  double flops_per_token = 0;
};

/// Of an encoder or decoder parameters of the whole model, the cache of its decoder, and its own
/// FLOPs.
ModelSize size_of(const Model& model);

/// Of the tensors that have the layer in their names.
std::int64_t parameters_of_layer(const Model& model, std::int64_t layer);

/// What `before`, size_of(model), would become, without making the model: of `ranks` as factors.
/// `size` is the only part of the choice that is read; of `latent` also `joint` and `exact`; of
/// `ranks` the ranks.
ModelSize size_after(const Model& model, const ModelSize& before, const Choice& choice);

}  // namespace attnscope
