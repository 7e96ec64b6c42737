// Kimi Linear: Kimi Delta Attention in most layers, MLA without RoPE in the others. Source:
// huggingface/transformers, models/kimi_linear.
#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

Architecture deepseek_v3();

/// The tensors of Kimi Delta Attention have the same names as attention tensors, so they count as a
/// mixer.
Architecture kimi_linear() {
  const std::string place = "layers.{layer}.block_sparse_moe";
  Architecture architecture = deepseek_v3();
  architecture.name = "kimi_linear";
  architecture.model_types = {"kimi_linear"};
  architecture.class_families = {"KimiLinear"};
  architecture.keys.context = {"model_max_length", {}, "max_position_embeddings"};
  architecture.mla->query_rank.fallback = {};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope.reset();
  std::erase_if(architecture.weights,
                [](const WeightRule& rule) { return is_beside_experts(rule.role); });
  // transformers saves the MLPs of layers without experts under the place of the experts.
  for (const auto& [role, name] : {std::pair{Role::gate, ".gate_proj.weight"},
                                   {Role::up, ".up_proj.weight"},
                                   {Role::down, ".down_proj.weight"}}) {
    architecture.weights.push_back({.role = role, .tensor = place + name, .is_other_name = true});
  }
  MoeRule rule = *architecture.experts;
  rule.experts = {"num_experts", "num_local_experts", "n_routed_experts"};
  rule.chosen = {"num_experts_per_token", "num_experts_per_tok"};
  rule.width.fallback = 1024;
  rule.layers = {.first = {"first_k_dense_replace", 1}, .types = "mlp_layer_types"};
  rule.tensors = {tensors_of_each_expert(place, "w1", "w3", "w2")};
  rule.choice_bias = {place + ".gate.e_score_correction_bias"};
  rule.groups = {"num_expert_group", 1, "n_group"};
  rule.kept_mlp_groups.fallback = 1;
  rule.normalize = {"moe_renormalize", true};
  rule.times.fallback = 2.446;
  rule.shared_count = {"num_shared_experts", 1, "n_shared_experts"};
  add_experts(architecture, place, std::move(rule));
  architecture.mixers = std::make_shared<MixerRule>(MixerRule{
      .kinds = {{.name = "full_attention", .attends = true},
                {.name = "linear_attention", .mixer = "Kimi Delta Attention"}},
      .list_keys = {"layer_types"},
      .attending_key = "linear_attn_config.full_attn_layers",
      .first_layer = 1,
      .interval = {"", 4},
      .offset = {"", 0},
      .not_first = true,
      .kimi_delta = KimiDeltaRule{
          .heads = {"linear_num_heads", 32, "linear_attn_config.num_heads"},
          .head_dim = {"linear_head_dim", 128, "linear_attn_config.head_dim"},
          .kernel = {"linear_conv_kernel_dim", 4, "linear_attn_config.short_conv_kernel_size"},
          .place = "layers.{layer}.self_attn"}});
  return architecture;
}

}  // namespace attnscope
