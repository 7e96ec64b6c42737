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
      .others = {{"q.norm", "layers.{layer}.self_attn.q_layernorm.*"},
                 {"k.norm", "layers.{layer}.self_attn.k_layernorm.*"},
                 {"norm", "layers.{layer}.input_layernorm.*"},
                 {"norm", "final_layernorm.*"}},
      .embedding = "embed_tokens.weight",
      .output_head = {"lm_head.weight"},
      .tied_by_default = false,
      .norm = NormRule{.own = "layers.{layer}.input_layernorm.weight"},
      .rope = RopeRule{.fraction = 0.5},
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
