// OLMo 1 to 3. From the second on, norms stand after the branches, and those of queries and keys
// span all heads. Source: huggingface/transformers, models/{olmo,olmo2,olmo3}.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture olmo() {
  Architecture architecture = like_llama("olmo", "Olmo");
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"", 1e-5};
  architecture.norm->affine = {"", false};
  architecture.clip = {"clip_qkv"};
  return architecture;
}

Architecture olmo2() {
  Architecture architecture = like_llama("olmo2", "Olmo2");
  architecture.norm->epsilon.fallback = 1e-5;
  norm_branches_only(architecture);
  norm_heads(architecture, HeadNormAxis::all_heads);
  return architecture;
}

Architecture olmo3() {
  Architecture architecture = olmo2();
  architecture.name = "olmo3";
  architecture.model_types = {"olmo3"};
  architecture.class_families = {"Olmo3"};
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::but_every,
                                   .number = {"", 4},
                                   .reads_layer_types = true};
  architecture.rope->theta = 500000;
  architecture.rope->scales_windowed = false;
  return architecture;
}

}  // namespace attnscope
