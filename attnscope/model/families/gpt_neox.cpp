// GPT-NeoX and Pythia: Q, K and V are interleaved per head. Source: huggingface/transformers,
// models/gpt_neox/modeling_gpt_neox.py, GPTNeoXAttention.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture gpt_neox() {
  using enum Role;
  using enum Storage;
  const std::string fused = "layers.{layer}.attention.query_key_value.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "gpt_neox",
      .model_types = {"gpt_neox"},
      .class_families = {"GPTNeoX"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"gpt_neox.", ""},
      .weights =
          {
              {query, fused, out_by_in, qkv, kPerKvHead},
              {key, fused, out_by_in, qkv, kPerKvHead},
              {value, fused, out_by_in, qkv, kPerKvHead},
              {output, "layers.{layer}.attention.dense.weight"},
              {up, "layers.{layer}.mlp.dense_h_to_4h.weight"},
              {down, "layers.{layer}.mlp.dense_4h_to_h.weight"},
          },
      .biases = {{{up, down}}, {{query, key, value, output}, {"attention_bias", true}}},
      .embedding = {.tokens = "embed_in.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                       .attention_input = "layers.{layer}.input_layernorm",
                       .mlp_input = "layers.{layer}.post_attention_layernorm",
                       .last = "final_layer_norm"},
      .rope =
          RopeRule{.theta_key = "rotary_emb_base", .fraction_key = "rotary_pct", .fraction = 0.25},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .parallel = {"use_parallel_residual", true},
      .head = {.weight = {"embed_out.weight", "lm_head.weight"}},
      .tied_by_default = false,
      .buffers = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
