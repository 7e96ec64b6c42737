// LFM2: short gated convolutions in most layers, attention in the others. Source:
// huggingface/transformers, models/{lfm2,lfm2_moe}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture lfm2() {
  using enum Role;
  const std::string attention = "layers.{layer}.self_attn.", mlp = "layers.{layer}.feed_forward.";
  Architecture architecture = like_llama("lfm2", "Lfm2");
  ConfigKeys& keys = architecture.keys;
  keys.kv_heads.fallback = 8;
  keys.mlp_width = {"intermediate_size", 12288, "block_ff_dim"};
  keys.mlp_adjusted = {.enabled = {"block_auto_adjust_ff_dim", true},
                       .factor = {"block_ffn_dim_multiplier", 1},
                       .multiple = {"block_multiple_of", 256}};
  architecture.head.weight = {"lm_head.weight"};
  architecture.weights = {{query, attention + "q_proj.weight"},
                          {key, attention + "k_proj.weight"},
                          {value, attention + "v_proj.weight"},
                          {output, attention + "out_proj.weight"},
                          {gate, mlp + "w1.weight"},
                          {up, mlp + "w3.weight"},
                          {down, mlp + "w2.weight"}};
  architecture.biases.clear();
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"norm_eps", 1e-5},
                               .attention_input = "layers.{layer}.operator_norm",
                               .mlp_input = "layers.{layer}.ffn_norm",
                               .last = "embedding_norm",
                               .query = attention + "q_layernorm",
                               .key = attention + "k_layernorm"};
  architecture.rope = RopeRule{.theta = 1e6};
  architecture.activation_key.clear();
  architecture.tied_by_default = true;
  architecture.other_tied_key = "tie_embedding";
  architecture.mixers = std::make_shared<MixerRule>(
      MixerRule{.kinds = {{.name = "full_attention", .attends = true},
                          {.name = "attention", .attends = true},
                          {.name = "conv", .mixer = "a short convolution"}},
                .list_keys = {"layer_types"},
                .attending_key = "full_attn_idxs",
                .short_convolution = ShortConvolutionRule{.kernel = {"conv_L_cache", 3},
                                                          .place = "layers.{layer}.conv",
                                                          .biased = {"conv_bias", false}}});
  return architecture;
}

/// LFM2 with experts after the first layers.
Architecture lfm2_moe() {
  using enum Role;
  const std::string place = "layers.{layer}.feed_forward";
  Architecture architecture = lfm2();
  architecture.name = "lfm2_moe";
  architecture.model_types = {"lfm2_moe"};
  architecture.class_families = {"Lfm2Moe"};
  architecture.keys.mlp_width = {"intermediate_size", 7168};
  architecture.keys.mlp_adjusted = {};
  architecture.weights.push_back({router, place + ".gate.weight"});
  MoeRule rule{.experts = {"num_experts", "num_local_experts"},
               .default_experts = 32,
               .chosen = {"num_experts_per_tok"},
               .default_chosen = 4,
               .width = {"moe_intermediate_size", 1792},
               .layers = {.first = {"num_dense_layers", 2}},
               .tensors = {tensors_of_each_expert(place, "w1", "w3", "w2")},
               .score = RouterScore::sigmoid,
               .normalize = {"norm_topk_prob", true},
               .normalize_epsilon = 1e-6,
               .times = {"routed_scaling_factor", 1}};
  Architecture unbiased = architecture;
  unbiased.experts = std::make_shared<MoeRule>(rule);
  unbiased.conditions = {{"use_expert_bias", {"false"}}};
  rule.choice_bias = {place + ".expert_bias"};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  architecture.layouts = {std::move(unbiased)};
  return architecture;
}

}  // namespace attnscope
