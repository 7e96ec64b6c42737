// Phi 1, 1.5 and 2: attention and MLP in parallel, biases everywhere.
// Source: huggingface/transformers, models/phi/modeling_phi.py, PhiAttention.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture phi() {
  using enum Role;
  return {
      .name = "phi",
      .model_types = {"phi"},
      .class_families = {"Phi"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .kv_heads = {"num_key_value_heads"},
               .head_dim = {"head_dim"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"model.", ""},
      .weights =
          {
              {query, "layers.{layer}.self_attn.q_proj.weight"},
              {key, "layers.{layer}.self_attn.k_proj.weight"},
              {value, "layers.{layer}.self_attn.v_proj.weight"},
              {output, "layers.{layer}.self_attn.dense.weight"},
              {up, "layers.{layer}.mlp.fc1.weight"},
              {down, "layers.{layer}.mlp.fc2.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "embed_tokens.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                       .attention_input = "layers.{layer}.input_layernorm",
                       .last = "final_layernorm",
                       .query = "layers.{layer}.self_attn.q_layernorm",
                       .key = "layers.{layer}.self_attn.k_layernorm",
                       .queries_and_keys = {"qk_layernorm"}},
      .rope = RopeRule{.fraction_key = "partial_rotary_factor", .fraction = 0.5},
      .activation_key = "hidden_act",
      .activation = "gelu_new",
      .parallel = {"", true},
      .head = {.weight = {"lm_head.weight"}, .bias = {"lm_head.bias"}, .needs_bias = true},
      .tied_by_default = false,
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
