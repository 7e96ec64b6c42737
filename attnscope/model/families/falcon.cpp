// Falcon, in three variants: one key/value head (7B), one per head (RW), or groups of heads with
// separate norms for attention and MLP (40B, 180B). Positions are rotary or ALiBi. Falcon-H1 has
// Mamba-2 next to attention in each layer; its forward pass is not supported. Source:
// huggingface/transformers, models/{falcon,falcon_h1}. If attention maps are requested, Falcon's
// eager attention adds ALiBi twice. This description adds it once, as transformers does without
// maps.
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

}  // namespace

Architecture falcon() {
  using enum Role;
  using enum Storage;
  const std::string fused = "h.{layer}.self_attention.query_key_value.weight";
  const std::vector<Role> qkv = {query, key, value};
  Architecture family{
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
  const Architecture one_kv_head = family;

  Architecture groups = one_kv_head;
  groups.keys.kv_heads = {"num_kv_heads"};
  set_order(groups, kPerKvHead);
  groups.conditions = {{"new_decoder_architecture", {"true"}}};
  Architecture one_norm = groups;
  one_norm.conditions.push_back({"num_ln_in_parallel_attn", {"1"}});
  add_positions(family, std::move(one_norm));
  groups.norm->attention_input = "h.{layer}.ln_attn";
  groups.norm->mlp_input = "h.{layer}.ln_mlp";
  add_positions(family, std::move(groups));

  Architecture per_head = one_kv_head;
  per_head.keys.kv_heads = {};
  set_order(per_head, kPerKvHead);
  per_head.conditions = {{"multi_query", {"false", "null"}}};
  for (const Architecture& layout : {per_head, one_kv_head}) {
    Architecture sequential = layout;
    sequential.parallel = {"", false};
    sequential.norm->mlp_input = "h.{layer}.post_attention_layernorm";
    sequential.conditions.push_back({"parallel_attn", {"false", "null"}});
    add_positions(family, std::move(sequential));
    add_positions(family, layout);
  }
  return family;
}

/// Mamba and attention read the same normalized input, and their outputs are added. Multipliers of
/// keys and branches are omitted because they do not change ranks.
Architecture falcon_h1() {
  Architecture architecture = like_llama("falcon_h1", "FalconH1");
  architecture.keys.kv_heads.fallback = 8;
  rename_mlp_to_feed_forward(architecture);
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.others = {{"mixer", "layers.{layer}.mamba.*"}};
  architecture.mixers = std::make_shared<MixerRule>(MixerRule{
      .kinds = {{.name = "hybrid", .attends = true, .mixer = kMamba2}}, .usual = "hybrid"});
  return architecture;
}

}  // namespace attnscope
