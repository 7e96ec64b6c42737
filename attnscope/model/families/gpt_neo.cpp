// GPT-Neo: separate Linear projections without biases, local and global layers alike.
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
      .others = {{"position_embedding", "wpe.weight"},
                 {"norm", "h.{layer}.ln_*"},
                 {"norm", "ln_f.*"}},
      .embedding = "wte.weight",
      .output_head = {"lm_head.weight"},
      .norm = NormRule{.own = "h.{layer}.ln_1.weight"},
      .buffers = {"*.attn.attention.bias", "*.attn.attention.masked_bias"},
  };
}

}  // namespace attnscope
