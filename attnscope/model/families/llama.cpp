// Llama (and Aquila), whose tensor names many families use (like_llama.h). Source:
// huggingface/transformers, models/llama.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture llama() {
  using enum Role;
  return {
      .name = "llama",
      .model_types = {"llama", "aquila"},
      .class_families = {"Llama", "LLaMA", "Aquila"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .kv_heads = {"num_key_value_heads"},
               .head_dim = {"head_dim"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .nested_sizes = {.layers = 32,
                       .heads = 32,
                       .width = 4096,
                       .mlp_width = 11008,
                       .vocabulary = 32000,
                       .context = 2048},
      .prefixes = {"model.", ""},
      .weights =
          {
              {query, "layers.{layer}.self_attn.q_proj.weight"},
              {key, "layers.{layer}.self_attn.k_proj.weight"},
              {value, "layers.{layer}.self_attn.v_proj.weight"},
              {output, "layers.{layer}.self_attn.o_proj.weight"},
              {gate, "layers.{layer}.mlp.gate_proj.weight"},
              {up, "layers.{layer}.mlp.up_proj.weight"},
              {down, "layers.{layer}.mlp.down_proj.weight"},
          },
      .biases = {{{query, key, value, output}, {"attention_bias"}},
                 {{gate, up, down}, {"mlp_bias"}}},
      .embedding = {.tokens = "embed_tokens.weight"},
      .norm = NormRule{.kind = NormKind::rms,
                       .epsilon = {"rms_norm_eps", 1e-6},
                       .attention_input = "layers.{layer}.input_layernorm",
                       .mlp_input = "layers.{layer}.post_attention_layernorm",
                       .last = "norm"},
      .rope = RopeRule{},
      .activation_key = "hidden_act",
      .activation = "silu",
      .head = {.weight = {"lm_head.weight"}},
      .tied_by_default = false,
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
