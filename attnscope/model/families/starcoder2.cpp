// StarCoder 2: Llama's attention with biases, LayerNorm, and an MLP of two matrices. Source:
// huggingface/transformers, models/starcoder2.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture starcoder2() {
  using enum Role;
  Architecture architecture = like_llama("starcoder2", "Starcoder2");
  architecture.keys.kv_heads.fallback = 2;
  remove_gate(architecture);
  for (WeightRule& rule : architecture.weights) {
    if (rule.role == up) rule.tensor = "layers.{layer}.mlp.c_fc.weight";
    if (rule.role == down) rule.tensor = "layers.{layer}.mlp.c_proj.weight";
  }
  architecture.biases = {{{query, key, value, output, up, down}, {"use_bias", true}}};
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"norm_epsilon", 1e-5};
  architecture.window = WindowRule{.size = {"sliding_window"}};
  architecture.activation = "gelu_pytorch_tanh";
  architecture.tied_by_default = true;
  return architecture;
}

}  // namespace attnscope
