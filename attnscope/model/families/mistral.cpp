// Ministral 3: Llama whose queries grow with their position.
// Source: huggingface/transformers, models/ministral3.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture ministral3() {
  Architecture architecture = like_llama("ministral3", "Ministral3");
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases.clear();
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.scores.temperature = {.growth = {"llama_4_scaling_beta"},
                                     .period = {"original_max_position_embeddings"}};
  architecture.window = WindowRule{.size = {"sliding_window"}};
  return architecture;
}

}  // namespace attnscope
