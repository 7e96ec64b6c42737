// Qwen2 (biases), Qwen3 (norms of Q and K, head_dim independent of the hidden size), and the text
// models of their vision-language versions. Source: huggingface/transformers,
// models/{qwen2,qwen2_vl,qwen2_5_vl,qwen3,qwen3_vl}.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture qwen2() {
  using enum Role;
  Architecture architecture = like_llama("qwen2", "Qwen2");
  architecture.keys.kv_heads.fallback = 32;
  architecture.biases = {{{query, key, value}}};
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .enabled = {"use_sliding_window"},
                                   .layers = WindowedLayers::from_layer,
                                   .number = {"max_window_layers", 28},
                                   .reads_layer_types = true};
  return architecture;
}

/// The text model of Qwen2-VL and Qwen2.5-VL. Files specify all sizes, at the top level or nested.
Architecture qwen2_vl() {
  Architecture architecture = qwen2();
  architecture.name = "qwen2_vl";
  architecture.model_types = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"};
  architecture.class_families = {"Qwen2VL", "Qwen2_5_VL"};
  architecture.prefixes = {"model.language_model.", "model.", ""};
  architecture.keys.kv_heads.fallback = 8;
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.window->number = {"max_window_layers", 80};
  return architecture;
}

Architecture qwen3() {
  using enum Role;
  Architecture architecture = like_llama("qwen3", "Qwen3");
  architecture.keys.kv_heads.fallback = 32;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  norm_heads(architecture, HeadNormAxis::head);
  architecture.window = qwen2().window;
  return architecture;
}

Architecture qwen3_vl() {
  Architecture architecture = qwen3();
  architecture.name = "qwen3_vl";
  architecture.model_types = {"qwen3_vl", "qwen3_vl_text"};
  architecture.class_families = {"Qwen3VL"};
  architecture.window = {};
  return architecture;
}

}  // namespace attnscope
