// ALBERT: layers share weights in groups; each layer shows the group that it uses.
// Source: huggingface/transformers, models/albert/modeling_albert.py, AlbertTransformer.
#include "attnscope/model/architecture.h"

namespace attnscope {
namespace {

std::string in_layer(const char* name) {
  return std::string("encoder.albert_layer_groups.{group}.albert_layers.{inner}.") + name;
}

}  // namespace

Architecture albert() {
  using enum Role;
  return {
      .name = "albert",
      .model_types = {"albert"},
      .class_families = {"Albert"},
      .keys = {.layers = {"num_hidden_layers"},
               .layer_groups = {"num_hidden_groups", 1},
               .layers_per_group = {"inner_group_num", 1},
               .heads = {"num_attention_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"albert.", ""},
      .weights =
          {
              {query, in_layer("attention.query.weight")},
              {key, in_layer("attention.key.weight")},
              {value, in_layer("attention.value.weight")},
              {output, in_layer("attention.dense.weight")},
              {up, in_layer("ffn.weight")},
              {down, in_layer("ffn_output.weight")},
          },
      .others = {{"position_embedding", "embeddings.position_embeddings.weight"},
                 {"token_type_embedding", "embeddings.token_type_embeddings.weight"},
                 {"embedding_projection", "encoder.embedding_hidden_mapping_in.*"},
                 {"norm", "embeddings.LayerNorm.*"},
                 {"norm", in_layer("attention.LayerNorm.*")},
                 {"norm", in_layer("full_layer_layer_norm.*")},
                 {"pooler", "pooler.*"}},
      .embedding = "embeddings.word_embeddings.weight",
      .output_head = {"predictions.decoder.weight"},
      .head_marker = "predictions.*",
      .repeated = {{"predictions.decoder.bias", "predictions.bias"}},
      .causal = false,
      // The embedding's norm is not folded: a linear map stands between it and layer 0.
      .norm = NormRule{.previous = in_layer("full_layer_layer_norm.weight")},
      .buffers = {"*.position_ids", "*.token_type_ids"},
  };
}

}  // namespace attnscope
