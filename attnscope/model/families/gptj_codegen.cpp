// GPT-J and CodeGen: attention and MLP share one LayerNorm. RoPE pairs adjacent dimensions, and
// only the first dimensions of each head are rotated. CodeGen stores Q, V and K in one tensor of
// four blocks. Source: huggingface/transformers, models/{gptj,codegen}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture gptj() {
  using enum Role;
  return {
      .name = "gptj",
      .model_types = {"gptj"},
      .class_families = {"GPTJ"},
      .keys = {.layers = {"n_layer"},
               .heads = {"n_head"},
               .width = {"n_embd"},
               .mlp_width = {"n_inner"},
               .context = {"n_positions"}},
      .prefixes = {"transformer.", ""},
      .weights =
          {
              {query, "h.{layer}.attn.q_proj.weight"},
              {key, "h.{layer}.attn.k_proj.weight"},
              {value, "h.{layer}.attn.v_proj.weight"},
              {output, "h.{layer}.attn.out_proj.weight"},
              {up, "h.{layer}.mlp.fc_in.weight"},
              {down, "h.{layer}.mlp.fc_out.weight"},
          },
      .biases = {{{up, down}}},
      .embedding = {.tokens = "wte.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .attention_input = "h.{layer}.ln_1",
                       .last = "ln_f"},
      .rope = RopeRule{.theta_key = "", .dimensions = {"rotary_dim", 64}, .neighbors = {"", true}},
      .activation_key = "activation_function",
      .activation = "gelu_new",
      .parallel = {"", true},
      .head = {.weight = {"lm_head.weight"}, .bias = {"lm_head.bias"}},
      .tied_by_default = false,
      .buffers = {"*.attn.bias", "*.attn.masked_bias", "*.attn.causal_mask",
                  "*.attn.embed_positions"},
  };
}

Architecture codegen() {
  using enum Role;
  Architecture architecture = gptj();
  architecture.name = "codegen";
  architecture.model_types = {"codegen"};
  architecture.class_families = {"CodeGen"};
  for (WeightRule& rule : architecture.weights) {
    if (rule.role != query && rule.role != key && rule.role != value) continue;
    rule.tensor = "h.{layer}.attn.qkv_proj.weight";
    rule.fused = {query, value, key};
    rule.groups = 4;
  }
  return architecture;
}

}  // namespace attnscope
