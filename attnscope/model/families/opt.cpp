// OPT. The 350m model has embeddings that are narrower than its hidden size, with projections at
// both ends. Source: huggingface/transformers, models/opt/modeling_opt.py, OPTDecoder.
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
      .biases = {{{query, key, value, output, up, down}, {"enable_bias", true}}},
      .embedding = {.tokens = "embed_tokens.weight",
                    .positions = "embed_positions.weight",
                    .position_offset = 2,
                    .projection = "project_in.weight",
                    .projects_tokens = true,
                    .width = {"word_embed_proj_dim"},
                    .last_projection = "project_out.weight"},
      .norm = NormRule{.epsilon = {"", 1e-5},
                       .affine = {"layer_norm_elementwise_affine", true},
                       .attention_input = "layers.{layer}.self_attn_layer_norm",
                       .mlp_input = "layers.{layer}.final_layer_norm",
                       .last = "final_layer_norm",
                       .first = {"do_layer_norm_before", true},
                       .without_last = {"_remove_final_layer_norm"}},
      .activation_key = "activation_function",
      .activation = "relu",
      .head = {.weight = {"lm_head.weight"}},
  };
}

}  // namespace attnscope
