// Falcon, in three variants: one key/value head (7B), one per head (RW), or groups of heads with
// separate norms for attention and MLP (40B, 180B). Positions are rotary or ALiBi. RefinedWeb is
// the name of its first files, with other defaults. Falcon-H1 has Mamba-2 next to attention in each
// layer. Source: huggingface/transformers, models/{falcon,falcon_h1}. If attention maps are
// requested, Falcon's eager attention adds ALiBi twice. This description adds it once, as
// transformers does without maps.
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {
namespace {

/// The variants, selected by `alibi` in config.json.
void add_positions(Architecture& family, Architecture layout) {
  Architecture alibi = layout;
  alibi.rope.reset();
  alibi.scores.alibi = Alibi{.in_bfloat16 = true};
  alibi.conditions.push_back({"alibi", {"true"}});
  family.layouts.push_back(std::move(alibi));
  family.layouts.push_back(std::move(layout));
}

void set_order(Architecture& architecture, std::int64_t groups) {
  for (WeightRule& rule : architecture.weights) {
    if (!rule.fused.empty()) rule.groups = groups;
  }
}

/// Attention and MLP one after the other, or both on the same norm's output.
Architecture sequential(Architecture layout) {
  layout.parallel = {"", false};
  layout.norm->mlp_input = "h.{layer}.post_attention_layernorm";
  return layout;
}

Architecture per_head(Architecture layout) {
  layout.keys.kv_heads = {};
  set_order(layout, kPerKvHead);
  return layout;
}

Architecture with_two_norms(Architecture layout) {
  layout.norm->attention_input = "h.{layer}.ln_attn";
  layout.norm->mlp_input = "h.{layer}.ln_mlp";
  return layout;
}

Architecture for_config(Architecture layout, std::vector<ConfigCondition> conditions) {
  layout.conditions = std::move(conditions);
  return layout;
}

/// One key/value head, and attention next to the MLP.
Architecture falcon_7b() {
  using enum Role;
  using enum Storage;
  const std::string fused = "h.{layer}.self_attention.query_key_value.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "falcon",
      .model_types = {"falcon"},
      .class_families = {"Falcon"},
      .keys = {.layers = {"num_hidden_layers", 32, "n_layer"},
               .heads = {"num_attention_heads", 71, "n_head"},
               .kv_heads = {"", 1},
               .width = {"hidden_size", 4544, "n_embed"},
               .mlp_width = {"ffn_hidden_size"},
               .context = {"max_position_embeddings", 2048}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, fused, out_by_in, qkv},
              {key, fused, out_by_in, qkv},
              {value, fused, out_by_in, qkv},
              {output, "h.{layer}.self_attention.dense.weight"},
              {up, "h.{layer}.mlp.dense_h_to_4h.weight"},
              {down, "h.{layer}.mlp.dense_4h_to_h.weight"},
          },
      .biases = {{{query, key, value, output, up, down}, {"bias"}}},
      .embedding = {.tokens = "word_embeddings.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .attention_input = "h.{layer}.input_layernorm",
                       .last = "ln_f"},
      .rope = RopeRule{},
      .activation_key = "activation",
      .activation = "gelu",
      .parallel = {"", true},
      .head = {.weight = {"lm_head.weight"}},
      .buffers = {"*.rotary_emb.inv_freq", "*.rotary.inv_freq"},
  };
}

}  // namespace

Architecture falcon() {
  Architecture family = falcon_7b();
  const Architecture one_kv_head = family;

  Architecture groups = one_kv_head;
  groups.keys.kv_heads = {"num_kv_heads"};
  set_order(groups, kPerKvHead);
  const ConfigCondition grouped = {"new_decoder_architecture", {"true"}};
  add_positions(family, for_config(groups, {grouped, {"num_ln_in_parallel_attn", {"1"}}}));
  add_positions(family, for_config(with_two_norms(groups), {grouped}));
  const ConfigCondition apart = {"multi_query", {"false", "null"}};
  const ConfigCondition in_turn = {"parallel_attn", {"false", "null"}};
  add_positions(family, for_config(sequential(per_head(one_kv_head)), {apart, in_turn}));
  add_positions(family, for_config(per_head(one_kv_head), {apart}));
  add_positions(family, for_config(sequential(one_kv_head), {in_turn}));
  add_positions(family, one_kv_head);
  return family;
}

/// The remote code of the first Falcon files: what they leave out is off, and only the largest
/// models have groups of heads. Source: tiiuae/falcon-40b, modelling_RW.py.
Architecture refined_web() {
  Architecture family = falcon_7b();
  family.name = "falcon";
  family.model_types = {"RefinedWeb", "RefinedWebModel"};
  family.class_families = {"RW"};
  const Architecture one_kv_head = family;
  Architecture groups = with_two_norms(one_kv_head);
  groups.keys.kv_heads = {"n_head_kv"};
  set_order(groups, kPerKvHead);
  const ConfigCondition shared = {"multi_query", {"true"}}, parallel = {"parallel_attn", {"true"}};
  add_positions(family, for_config(groups, {{"n_head_kv"}}));
  add_positions(family, for_config(one_kv_head, {shared, parallel}));
  add_positions(family, for_config(sequential(one_kv_head), {shared}));
  add_positions(family, for_config(per_head(one_kv_head), {parallel}));
  add_positions(family, sequential(per_head(one_kv_head)));
  return family;
}

/// Mamba-2 and attention read the same normalized input, and their outputs are added. Weight
/// analyses omit the multipliers of keys and branches because they do not change ranks.
Architecture falcon_h1() {
  Architecture architecture = like_llama("falcon_h1", "FalconH1");
  architecture.keys.kv_heads.fallback = 8;
  rename_mlp_to_feed_forward(architecture);
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.multipliers = {.embedding = {"embedding_multiplier", 1},
                              .logits = {"lm_head_multiplier", 1},
                              .attention_input = {"attention_in_multiplier", 1},
                              .keys = {"key_multiplier", 1},
                              .attention_output = {"attention_out_multiplier", 1},
                              .gate_and_mlp = "mlp_multipliers"};
  Mamba2Rule mixer = bamba_mixer("layers.{layer}.mamba");
  mixer.inner = {"mamba_d_ssm", 1024};
  mixer.output_biased = {"projectors_bias", false};
  mixer.normalized = {"mamba_rms_norm", false};
  mixer.norm_first = {"mamba_norm_before_gate", true};
  mixer.input_factor = {"ssm_in_multiplier", 1};
  mixer.projection_factors = "ssm_multipliers";
  architecture.mixers = std::make_shared<MixerRule>(
      MixerRule{.kinds = {{.name = "hybrid", .attends = true, .mixer = kMamba2}},
                .usual = "hybrid",
                .mamba2 = std::move(mixer),
                .output_factor = {"ssm_out_multiplier", 1}});
  return architecture;
}

}  // namespace attnscope
