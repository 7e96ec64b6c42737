// GPT-2. One fused QKV tensor per layer, stored (in, out) because Conv1D multiplies x @ W.
// Source: huggingface/transformers, models/gpt2/modeling_gpt2.py, GPT2Attention.
#include "attnscope/model/architecture.h"

namespace attnscope {
namespace {

/// The cross-attention of each layer, after its self-attention. Keys and values are fused.
Architecture gpt2_cross(const Architecture& gpt2) {
  using enum Role;
  using enum Storage;
  const std::string place = "h.{layer}.crossattention.";
  const std::vector<Role> keys_and_values = {key, value};
  return {
      .stack = "cross",
      .keys = gpt2.keys,
      .prefixes = gpt2.prefixes,
      .weights = {{query, place + "q_attn.weight", in_by_out},
                  {key, place + "c_attn.weight", in_by_out, keys_and_values},
                  {value, place + "c_attn.weight", in_by_out, keys_and_values},
                  {output, place + "c_proj.weight", in_by_out}},
      .biases = {{{query, key, value, output}}},
      .norm = NormRule{.epsilon = gpt2.norm->epsilon, .attention_input = "h.{layer}.ln_cross_attn"},
      .scores = gpt2.scores,
      .has_mlp = false,
      .causal = {"", false},
      .buffers = {"*.crossattention.bias", "*.crossattention.masked_bias"}};
}

}  // namespace

Architecture gpt2() {
  using enum Role;
  using enum Storage;
  const std::string c_attn = "h.{layer}.attn.c_attn.weight";
  const std::vector<Role> qkv = {query, key, value};
  Architecture out{
      .name = "gpt2",
      .model_types = {"gpt2"},
      .class_families = {"GPT2"},
      .keys = {.layers = {"n_layer"},
               .heads = {"n_head"},
               .width = {"n_embd"},
               .mlp_width = {"n_inner"},
               .context = {"n_positions"}},
      .prefixes = {"transformer.", ""},  // the oldest files on the hub have none
      .weights =
          {
              {query, c_attn, in_by_out, qkv},
              {key, c_attn, in_by_out, qkv},
              {value, c_attn, in_by_out, qkv},
              {output, "h.{layer}.attn.c_proj.weight", in_by_out},
              {up, "h.{layer}.mlp.c_fc.weight", in_by_out},
              {down, "h.{layer}.mlp.c_proj.weight", in_by_out},
          },
      .biases = {{{query, key, value, output, up, down}, {"bias", true}}},
      .embedding = {.tokens = "wte.weight", .positions = "wpe.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .biased = {"bias", true},  // nanoGPT's models may have none
                       .attention_input = "h.{layer}.ln_1",
                       .mlp_input = "h.{layer}.ln_2",
                       .last = "ln_f"},
      .scores = {.scaled = {"scale_attn_weights", true},
                 .by_layer = {"scale_attn_by_inverse_layer_idx"}},
      .activation_key = "activation_function",
      .activation = "gelu_new",
      .head = {.weight = {"lm_head.weight"}},
      .buffers = {"*.attn.bias", "*.attn.masked_bias"},  // the causal mask, in old files
  };
  out.cross = std::make_shared<const Architecture>(gpt2_cross(out));
  return out;
}

}  // namespace attnscope
