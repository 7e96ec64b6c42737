// CWM, the code world model: Llama whose layers have a sliding window, except every fourth one from
// the first on. Source: huggingface/transformers, models/cwm.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture cwm() {
  Architecture architecture = like_llama("cwm", "Cwm");
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{Role::gate, Role::up, Role::down}, {"mlp_bias"}}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.window = WindowRule{.size = {"sliding_window", 8192},
                                   .layers = WindowedLayers::but_first_of,
                                   .number = {"", 4},
                                   .reads_layer_types = true};
  architecture.rope->theta = 1e6;
  architecture.rope->standard =
      R"({"rope_type": "llama3", "rope_theta": 1000000, "factor": 16, "high_freq_factor": 4,
          "low_freq_factor": 1, "original_max_position_embeddings": 8192})";
  return architecture;
}

}  // namespace attnscope
