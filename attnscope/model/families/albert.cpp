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
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "embeddings.word_embeddings.weight",
                    .positions = "embeddings.position_embeddings.weight",
                    .types = "embeddings.token_type_embeddings.weight",
                    .norm = "embeddings.LayerNorm",
                    .projection = "encoder.embedding_hidden_mapping_in.weight",
                    .width = {"embedding_size", 128}},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_sum = in_layer("attention.LayerNorm"),
                       .mlp_sum = in_layer("full_layer_layer_norm")},
      .activation_key = "hidden_act",
      .activation = "gelu_new",
      .head = {.weight = {"predictions.decoder.weight"},
               .bias = {"predictions.decoder.bias", "predictions.bias"},
               .needs_bias = true,
               .dense = "predictions.dense.weight",
               .norm = "predictions.LayerNorm"},
      .label_heads = {{.task = LabelTask::sequence,
                       .weight = "classifier.weight",
                       .dense = "pooler.weight",
                       .dense_under_prefix = true,
                       .activation = "tanh"},
                      {.task = LabelTask::token, .weight = "classifier.weight"},
                      {.task = LabelTask::span, .weight = "qa_outputs.weight"}},
      .others = {{"pooler", "pooler.*"}},
      .head_marker = "predictions.*",
      .repeated = {{"predictions.decoder.bias", "predictions.bias"}},
      .causal = {"", false},
      .buffers = {"*.position_ids", "*.token_type_ids"},
  };
}

}  // namespace attnscope
