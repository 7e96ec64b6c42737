// ERNIE 4.5: Llama whose RoPE pairs adjacent dimensions; also as MoE. Source:
// huggingface/transformers, models/{ernie4_5,ernie4_5_moe}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture ernie4_5() {
  using enum Role;
  Architecture architecture = like_llama("ernie4_5", "Ernie4_5");
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{query, key, value, output, gate, up, down}, {"use_bias"}}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope->theta = 500000;
  architecture.rope->neighbors = {"", true};
  architecture.head.bias = {"lm_head.bias"};
  architecture.tied_by_default = true;
  return architecture;
}

Architecture ernie4_5_moe() {
  using enum Role;
  const std::string place = "layers.{layer}.mlp";
  Architecture architecture = ernie4_5();
  architecture.name = "ernie4_5_moe";
  architecture.model_types = {"ernie4_5_moe"};
  architecture.class_families = {"Ernie4_5_Moe"};
  architecture.keys.kv_heads.fallback = 4;
  architecture.keys.head_dim.fallback = {};
  architecture.biases = {{{query, key, value, output}, {"use_bias"}}};  // experts have no biases
  architecture.weights.push_back({router, place + ".gate.weight"});
  add_shared_experts(architecture, place + ".shared_experts");
  architecture.experts = std::make_shared<MoeRule>(
      MoeRule{.experts = {"moe_num_experts", "num_experts"},
              .default_experts = 64,
              .chosen = {"moe_k", "num_experts_per_tok"},
              .default_chosen = 6,
              .width = {"moe_intermediate_size", 1536},
              .layers = {.every = {"moe_layer_interval", 1},
                         .first = {"moe_layer_start_index", 1},
                         .last = {"moe_layer_end_index", -1}},
              .tensors = usual_expert_tensors(place),
              .score = RouterScore::softmax,
              .choice_bias = {place + ".moe_statics.e_score_correction_bias"},
              .normalize = {"", true},
              .normalize_least = {"moe_norm_min", 1e-12},
              .shared_count = {"moe_num_shared_experts", 2}});
  return architecture;
}

}  // namespace attnscope
