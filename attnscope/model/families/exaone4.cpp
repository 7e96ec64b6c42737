// EXAONE 4: only the outputs of attention and MLP are normalized. In models with sliding windows,
// layers with full attention have no RoPE. Source: huggingface/transformers, models/exaone4.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture exaone4() {
  Architecture architecture = like_llama("exaone4", "Exaone4");
  architecture.keys.kv_heads.fallback = 32;
  architecture.biases.clear();
  architecture.norm->epsilon.fallback = 1e-5;
  norm_branches_only(architecture);
  norm_heads(architecture, HeadNormAxis::head);
  architecture.rope->layers = RotatedLayers::windowed_if_sized;
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::but_every,
                                   .number = {"sliding_window_pattern", 4},
                                   .reads_layer_types = true};
  return architecture;
}

}  // namespace attnscope
