// CTRL: pre-norm layers with sinusoidal positions and a bias of the LM head. Source:
// huggingface/transformers, models/ctrl.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture ctrl() {
  using enum Role;
  const std::string attention = "h.{layer}.multi_head_attention.";
  return {
      .name = "ctrl",
      .model_types = {"ctrl"},
      .class_families = {"CTRL"},
      .keys = {.layers = {"n_layer"},
               .heads = {"n_head"},
               .width = {"n_embd"},
               .mlp_width = {"dff"},
               .context = {"n_positions"}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, attention + "Wq.weight"},
              {key, attention + "Wk.weight"},
              {value, attention + "Wv.weight"},
              {output, attention + "dense.weight"},
              {up, "h.{layer}.ffn.0.weight"},
              {down, "h.{layer}.ffn.2.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "w.weight", .waves = WaveRule{}, .times_sqrt_width = {"", true}},
      .norm = NormRule{.epsilon = {"", 1e-6},
                       .last_epsilon = {"layer_norm_epsilon", 1e-6},
                       .attention_input = "h.{layer}.layernorm1",
                       .mlp_input = "h.{layer}.layernorm2",
                       .last = "layernorm"},
      .activation = "relu",
      .head = {.weight = {"lm_head.weight"}, .bias = {"lm_head.bias"}, .needs_bias = true},
      .head_marker = "lm_head.*",
      .buffers = {"*.pos_encoding"},
  };
}

}  // namespace attnscope
