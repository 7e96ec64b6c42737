// How large a model is, and how large a choice would leave it.
#pragma once

#include <cstdint>

#include "attnscope/model/model.h"
#include "attnscope/smaller/choice.h"

namespace attnscope {

struct ModelSize {
  std::int64_t parameters = 0;                // shared and tied ones once
  std::int64_t kv_cache_bytes_per_token = 0;  // at 16 bits; 0 of an encoder
  double flops_per_token = 0;  // products of projections and head, and attention half way through
                               // the context
};

/// Of an encoder or decoder parameters of the whole model, and the cache of its decoder.
ModelSize size_of(const Model& model);

/// Parameters and cache bytes that the model would have, without making it: of `ranks` as factors.
/// `size` is the only part of the choice that is read; of `latent` also `joint` and `exact`; of
/// `ranks` the ranks.
ModelSize size_after(const Model& model, const Choice& choice);

}  // namespace attnscope
