// MPT: ALiBi with its own slopes, Q, K and V in one tensor, no biases (not even in norms). Source:
// huggingface/transformers, models/mpt/modeling_mpt.py. It ignores alibi, alibi_bias_max and qk_ln
// in attn_config, and learned_pos_emb and expansion_ratio.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture mpt() {
  using enum Role;
  using enum Storage;
  const std::string fused = "blocks.{layer}.attn.Wqkv.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "mpt",
      .model_types = {"mpt"},
      .class_families = {"Mpt", "MPT"},
      .keys = {.layers = {"n_layers", 24},
               .heads = {"n_heads", 16},
               .width = {"d_model", 2048},
               .mlp_width = {},
               .context = {"max_seq_len", 2048}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, fused, out_by_in, qkv},
              {key, fused, out_by_in, qkv},
              {value, fused, out_by_in, qkv},
              {output, "blocks.{layer}.attn.out_proj.weight"},
              {up, "blocks.{layer}.ffn.up_proj.weight"},
              {down, "blocks.{layer}.ffn.down_proj.weight"},
          },
      .embedding = {.tokens = "wte.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .biased = {"", false},
                       .attention_input = "blocks.{layer}.norm_1",
                       .mlp_input = "blocks.{layer}.norm_2",
                       .last = "norm_f"},
      .scores = {.scale = {"attn_config.softmax_scale"},
                 .clip = {"attn_config.clip_qkv"},
                 .alibi = Alibi{.of_larger_power = true}},
      .activation = "gelu",
      .head = {.weight = {"lm_head.weight"}},
  };
}

}  // namespace attnscope
