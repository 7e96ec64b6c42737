// BLOOM: ALiBi, a norm of the embedding, and Q, K and V interleaved per head. Source:
// huggingface/transformers, models/bloom/modeling_bloom.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bloom() {
  using enum Role;
  using enum Storage;
  const std::string fused = "h.{layer}.self_attention.query_key_value.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "bloom",
      .model_types = {"bloom"},
      .class_families = {"Bloom"},
      .keys = {.layers = {"n_layer", 2, "num_hidden_layers"},
               .heads = {"n_head", 8, "num_attention_heads"},
               .width = {"hidden_size", 64, "n_embed"},
               .mlp_width = {},
               .context = {"seq_length"}},
      .prefixes = {"transformer.", ""},  // files on the hub have none
      .weights =
          {
              {query, fused, out_by_in, qkv, kPerKvHead},
              {key, fused, out_by_in, qkv, kPerKvHead},
              {value, fused, out_by_in, qkv, kPerKvHead},
              {output, "h.{layer}.self_attention.dense.weight"},
              {up, "h.{layer}.mlp.dense_h_to_4h.weight"},
              {down, "h.{layer}.mlp.dense_4h_to_h.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "word_embeddings.weight", .norm = "word_embeddings_layernorm"},
      .norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                       .attention_input = "h.{layer}.input_layernorm",
                       .mlp_input = "h.{layer}.post_attention_layernorm",
                       .last = "ln_f",
                       .replaces_stream = {"apply_residual_connection_post_layernorm"}},
      .scores = {.alibi = Alibi{}},
      .activation = "gelu_new",
      .head = {.weight = {"lm_head.weight"}},
  };
}

}  // namespace attnscope
