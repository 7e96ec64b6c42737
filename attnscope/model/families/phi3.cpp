// Phi-3 and Phi-4: Llama's block with Q, K, V in one tensor and gate, up in another.
// Source: huggingface/transformers, models/phi3/modeling_phi3.py, Phi3Attention and Phi3MLP.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture phi3() {
  using enum Role;
  using enum Storage;
  const std::string qkv_proj = "layers.{layer}.self_attn.qkv_proj.weight";
  const std::string gate_up_proj = "layers.{layer}.mlp.gate_up_proj.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "phi3",
      .model_types = {"phi3"},
      .class_families = {"Phi3"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .kv_heads = {"num_key_value_heads"},
               .head_dim = {"head_dim"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"model.", ""},
      .weights =
          {
              {query, qkv_proj, out_by_in, qkv},
              {key, qkv_proj, out_by_in, qkv},
              {value, qkv_proj, out_by_in, qkv},
              {output, "layers.{layer}.self_attn.o_proj.weight"},
              {gate, gate_up_proj, out_by_in, {gate, up}},
              {up, gate_up_proj, out_by_in, {gate, up}},
              {down, "layers.{layer}.mlp.down_proj.weight"},
          },
      .embedding = {.tokens = "embed_tokens.weight"},
      .norm = NormRule{.kind = NormKind::rms,
                       .epsilon = {"rms_norm_eps", 1e-5},
                       .attention_input = "layers.{layer}.input_layernorm",
                       .mlp_input = "layers.{layer}.post_attention_layernorm",
                       .last = "norm"},
      .window = WindowRule{.size = {"sliding_window"}},
      .rope = RopeRule{.fraction_key = "partial_rotary_factor",
                       .original_context = 4096,
                       .yarn_is_longrope = true},
      .activation_key = "hidden_act",
      .activation = "silu",
      .head = {.weight = {"lm_head.weight"}},
      .tied_by_default = false,
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
