// SmolLM3: Llama with some layers without RoPE. Source: huggingface/transformers, models/smollm3.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture smollm3() {
  Architecture architecture = like_llama("smollm3", "SmolLM3");
  architecture.keys.kv_heads.fallback = 4;
  architecture.rope->theta = 2e6;
  architecture.rope->layers = RotatedLayers::listed;
  architecture.rope->layer_list = "no_rope_layers";
  architecture.rope->interval = {"no_rope_layer_interval", 4};
  architecture.window = WindowRule{.size = {"sliding_window"},
                                   .enabled = {"use_sliding_window"},
                                   .layers = WindowedLayers::unrotated,
                                   .reads_layer_types = true};
  architecture.tied_by_default = true;
  return architecture;
}

}  // namespace attnscope
