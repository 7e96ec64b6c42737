// OPT. The 350m model embeds in fewer dimensions than it computes in, and projects in and out.
// Source: huggingface/transformers, models/opt/modeling_opt.py, OPTDecoder.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture opt() {
  using enum Role;
  return {
      .name = "opt",
      .model_types = {"opt"},
      .class_families = {"OPT"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"ffn_dim"}},
      .prefixes = {"model.decoder.", "decoder.", ""},
      .weights =
          {
              {query, "layers.{layer}.self_attn.q_proj.weight"},
              {key, "layers.{layer}.self_attn.k_proj.weight"},
              {value, "layers.{layer}.self_attn.v_proj.weight"},
              {output, "layers.{layer}.self_attn.out_proj.weight"},
              {up, "layers.{layer}.fc1.weight"},
              {down, "layers.{layer}.fc2.weight"},
          },
      .others = {{"position_embedding", "embed_positions.weight"},
                 {"embedding_projection", "project_in.weight"},
                 {"embedding_projection", "project_out.weight"},
                 {"norm", "layers.{layer}.*layer_norm.*"},
                 {"norm", "final_layer_norm.*"}},
      .embedding = "embed_tokens.weight",
      .output_head = {"lm_head.weight"},
      .norm = NormRule{.own = "layers.{layer}.self_attn_layer_norm.weight",
                       .previous = "layers.{layer}.final_layer_norm.weight",
                       .first_key = "do_layer_norm_before"},
  };
}

}  // namespace attnscope
