// Llama with multi-head latent attention (MLA), as DeepSeek-V2 introduced it.
#pragma once

#include "attnscope/model/families/like_llama.h"

namespace attnscope {

/// DeepSeek-V2's tensor names and sizes: W_Q and W_KV are each the product of a `*_a_proj` and a
/// `*_b_proj`. Source: DeepSeek-V2 (arXiv:2405.04434), section 2.1.
inline Architecture like_llama_with_mla(const char* name, const char* class_family) {
  using enum Role;
  Architecture architecture = like_llama(name, class_family);
  architecture.keys.kv_heads = {};  // in config.json, but not used
  architecture.keys.head_dim = {};  // in config.json, but not used
  std::erase_if(architecture.weights,
                [](const WeightRule& rule) { return rule.role == key || rule.role == value; });
  const std::string place = "layers.{layer}.self_attn.";
  architecture.weights.push_back({query_down, place + "q_a_proj.weight"});
  architecture.weights.push_back({query_up, place + "q_b_proj.weight"});
  architecture.weights.push_back({kv_down, place + "kv_a_proj_with_mqa.weight"});
  architecture.weights.push_back({kv_up, place + "kv_b_proj.weight"});
  architecture.biases = {{{query_down, kv_down, output}, {"attention_bias"}},
                         {{gate, up, down}, {"mlp_bias"}}};
  architecture.mla = MlaRule{.query_rank = {"q_lora_rank", 1536},
                             .rank = {"kv_lora_rank", 512},
                             .plain_dim = {"qk_nope_head_dim", 128},
                             .rotary_dim = {"qk_rope_head_dim", 64},
                             .value_dim = {"v_head_dim", 128},
                             .query_norm = place + "q_a_layernorm",
                             .norm = place + "kv_a_layernorm"};
  architecture.scores.times_yarn_gain = true;
  return architecture;
}

}  // namespace attnscope
