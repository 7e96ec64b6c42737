// Cohere's Command R: attention and MLP share one LayerNorm; RoPE pairs adjacent dimensions.
// Command R7B (cohere2) has RoPE only in layers with a sliding window. Source:
// huggingface/transformers, models/{cohere,cohere2}.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture cohere() {
  Architecture architecture = like_llama("cohere", "Cohere");
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"layer_norm_eps", 1e-5};
  architecture.norm->biased = {"", false};
  architecture.norm->mlp_input.clear();
  norm_heads(architecture, HeadNormAxis::each_head);
  architecture.norm->queries_and_keys = {"use_qk_norm"};
  architecture.parallel = {"", true};
  architecture.rope->theta = 500000;
  architecture.rope->neighbors = {"", true};
  architecture.multipliers.logits = {"logit_scale", 0.0625};
  architecture.tied_by_default = true;
  return architecture;
}

Architecture cohere2() {
  Architecture architecture = cohere();
  architecture.name = "cohere2";
  architecture.model_types = {"cohere2"};
  architecture.class_families = {"Cohere2"};
  architecture.keys.head_dim = {};  // files may contain the key, but it is not used
  architecture.norm->query.clear();
  architecture.norm->key.clear();
  architecture.rope->theta = 10000;
  architecture.rope->layers = RotatedLayers::windowed;
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::but_every,
                                   .number = {"sliding_window_pattern", 4},
                                   .reads_layer_types = true};
  return architecture;
}

}  // namespace attnscope
