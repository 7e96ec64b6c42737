// Granite: Llama with constant factors on the way of the stream.
// Source: huggingface/transformers, models/granite.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture granite() {
  Architecture architecture = like_llama("granite", "Granite");
  architecture.scores.scale = {"attention_multiplier", 1};
  architecture.multipliers = {.embedding = {"embedding_multiplier", 1},
                              .branches = {"residual_multiplier", 1},
                              .logits_divisor = {"logits_scaling", 1}};
  return architecture;
}

}  // namespace attnscope
