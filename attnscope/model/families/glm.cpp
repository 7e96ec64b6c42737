// GLM-4: rotates neighbours in half of each head; gate and up in one tensor. GLM-4-0414 (glm4) has
// norms after its branches, too.
// Source: huggingface/transformers, models/{glm,glm4}.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture glm() {
  using enum Role;
  Architecture architecture = like_llama("glm", "Glm");
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.head_dim.fallback = 128;
  const std::string gate_up = "layers.{layer}.mlp.gate_up_proj.weight";
  for (WeightRule& rule : architecture.weights) {
    if (rule.role != gate && rule.role != up) continue;
    rule.tensor = gate_up;
    rule.fused = {gate, up};
  }
  architecture.biases = {{{query, key, value}, {"attention_bias", true}}};
  architecture.norm->epsilon.fallback = 1.5625e-7;
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  architecture.rope->neighbours = {"", true};
  return architecture;
}

Architecture glm4() {
  Architecture architecture = glm();
  architecture.name = "glm4";
  architecture.model_types = {"glm4"};
  architecture.class_families = {"Glm4"};
  architecture.norm->attention_output = "layers.{layer}.post_self_attn_layernorm";
  architecture.norm->mlp_output = "layers.{layer}.post_mlp_layernorm";
  return architecture;
}

}  // namespace attnscope
