// DBRX: MPT's fused projections with RoPE, and experts whose matrices follow each other in one
// tensor. Source: huggingface/transformers, models/dbrx.
#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {

Architecture dbrx() {
  using enum Role;
  using enum Storage;
  const std::string block = "blocks.{layer}.", experts = block + "ffn.experts.mlp.";
  const std::string fused = block + "norm_attn_norm.attn.Wqkv.weight";
  const std::vector<Role> qkv = {query, key, value};
  const auto of_experts = [&](Role role, const char* name, Storage storage) {
    return WeightRule{
        .role = role, .tensor = experts + name, .storage = storage, .concatenated = true};
  };
  Architecture architecture{
      .name = "dbrx",
      .model_types = {"dbrx"},
      .class_families = {"Dbrx"},
      .keys = {.layers = {"n_layers", 24},
               .heads = {"n_heads", 16},
               .kv_heads = {"attn_config.kv_n_heads", 1},
               .width = {"d_model", 2048},
               .mlp_width = {},
               .context = {"max_seq_len", 2048}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, fused, out_by_in, qkv},
              {key, fused, out_by_in, qkv},
              {value, fused, out_by_in, qkv},
              {output, block + "norm_attn_norm.attn.out_proj.weight"},
              {router, block + "ffn.router.layer.weight"},
          },
      .embedding = {.tokens = "wte.weight"},
      .norm = NormRule{.epsilon = {"", 1e-5},
                       .biased = {"", false},
                       .attention_input = block + "norm_attn_norm.norm_1",
                       .mlp_input = block + "norm_attn_norm.norm_2",
                       .last = "norm_f"},
      .scores = {.clip = {"attn_config.clip_qkv"}},
      .rope = RopeRule{.theta_key = "attn_config.rope_theta"},
      .activation_key = "ffn_config.ffn_act_fn.name",
      .activation = "silu",
      .head = {.weight = {"lm_head.weight"}},
      .tied_by_default = false,
  };
  MoeRule rule{
      .experts = {"ffn_config.moe_num_experts"},
      .default_experts = 4,
      .chosen = {"ffn_config.moe_top_k"},
      .default_chosen = 1,
      .width = {"ffn_config.ffn_hidden_size", 3584},
      .tensors = {{.weights = {of_experts(gate, "w1", out_by_in), of_experts(up, "v1", out_by_in),
                               of_experts(down, "w2", in_by_out)}}},
      .score = RouterScore::softmax};
  // The weights are divided by their norm of this order; for order 1, the sum.
  constexpr const char* kOrder = "ffn_config.moe_normalize_expert_weights";
  Architecture plain = architecture;
  plain.conditions = {{kOrder, {"null"}}};
  plain.experts = std::make_shared<MoeRule>(rule);
  rule.normalize = {"", true};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  Architecture normalized = architecture;
  normalized.conditions = {{kOrder, {"1", "1.0"}}};
  Architecture other =
      not_run_if(architecture, {kOrder},
                 "'moe_normalize_expert_weights' is neither 1 nor null, which is not supported");
  architecture.layouts = {std::move(plain), std::move(normalized), std::move(other)};
  return architecture;
}

}  // namespace attnscope
