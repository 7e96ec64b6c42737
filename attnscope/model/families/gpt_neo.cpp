// GPT-Neo: separate Linear projections without biases; every second layer has a sliding window.
// Source: huggingface/transformers, models/gpt_neo/modeling_gpt_neo.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture gpt_neo() {
  using enum Role;
  return {
      .name = "gpt_neo",
      .model_types = {"gpt_neo"},
      .class_families = {"GPTNeo"},
      .keys = {.layers = {"num_layers"},
               .heads = {"num_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, "h.{layer}.attn.attention.q_proj.weight"},
              {key, "h.{layer}.attn.attention.k_proj.weight"},
              {value, "h.{layer}.attn.attention.v_proj.weight"},
              {output, "h.{layer}.attn.attention.out_proj.weight"},
              {up, "h.{layer}.mlp.c_fc.weight"},
              {down, "h.{layer}.mlp.c_proj.weight"},
          },
      .biases = {{{output, up, down}}},
      .embedding = {.tokens = "wte.weight", .positions = "wpe.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .attention_input = "h.{layer}.ln_1",
                       .mlp_input = "h.{layer}.ln_2",
                       .last = "ln_f"},
      .scores = {.scaled = {"", false}},
      .window = WindowRule{.size = {"window_size", 256}, .layers = WindowedLayers::listed_kinds},
      .activation_key = "activation_function",
      .activation = "gelu_new",
      .head = {.weight = {"lm_head.weight"}},
      .bidirectional = {.by_is_causal = false},  // each layer has its own mask
      .buffers = {"*.attn.attention.bias", "*.attn.attention.masked_bias"},
  };
}

}  // namespace attnscope
