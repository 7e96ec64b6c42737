// BERT: an encoder with one Linear per projection.
// Source: huggingface/transformers, models/bert/modeling_bert.py, BertSelfAttention.
#include "attnscope/model/architecture.h"

namespace attnscope {
namespace {

/// The cross-attention of each layer, after its self-attention.
Architecture bert_cross(const Architecture& bert) {
  using enum Role;
  const std::string place = "encoder.layer.{layer}.crossattention.";
  return {
      .stack = "cross",
      .keys = bert.keys,
      .prefixes = bert.prefixes,
      .weights = {{query, place + "self.query.weight"},
                  {key, place + "self.key.weight"},
                  {value, place + "self.value.weight"},
                  {output, place + "output.dense.weight"}},
      .biases = {{{query, key, value, output}}},
      .norm = NormRule{.epsilon = bert.norm->epsilon, .attention_sum = place + "output.LayerNorm"},
      .has_mlp = false,
      .causal = {"", false}};
}

}  // namespace

Architecture bert() {
  using enum Role;
  Architecture out{
      .name = "bert",
      .model_types = {"bert"},
      .class_families = {"Bert"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"bert.", ""},
      .weights =
          {
              {query, "encoder.layer.{layer}.attention.self.query.weight"},
              {key, "encoder.layer.{layer}.attention.self.key.weight"},
              {value, "encoder.layer.{layer}.attention.self.value.weight"},
              {output, "encoder.layer.{layer}.attention.output.dense.weight"},
              {up, "encoder.layer.{layer}.intermediate.dense.weight"},
              {down, "encoder.layer.{layer}.output.dense.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "embeddings.word_embeddings.weight",
                    .positions = "embeddings.position_embeddings.weight",
                    .types = "embeddings.token_type_embeddings.weight",
                    .type_count = {"type_vocab_size", 2},
                    .norm = "embeddings.LayerNorm"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_sum = "encoder.layer.{layer}.attention.output.LayerNorm",
                       .mlp_sum = "encoder.layer.{layer}.output.LayerNorm"},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .head = {.weight = {"cls.predictions.decoder.weight"},
               .bias = {"cls.predictions.decoder.bias", "cls.predictions.bias"},
               .needs_bias = true,
               .dense = "cls.predictions.transform.dense.weight",
               .norm = "cls.predictions.transform.LayerNorm"},
      .label_heads = {{.task = LabelTask::sequence,
                       .weight = "classifier.weight",
                       .dense = "pooler.dense.weight",
                       .dense_under_prefix = true,
                       .activation = "tanh"},
                      {.task = LabelTask::token, .weight = "classifier.weight"},
                      {.task = LabelTask::span, .weight = "qa_outputs.weight"}},
      .others = {{"pooler", "pooler.*"}},
      .head_marker = "cls.predictions.*",
      .repeated = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}},
      .causal = {"is_decoder"},
      .buffers = {"*.position_ids", "*.token_type_ids"},
  };
  out.cross = std::make_shared<const Architecture>(bert_cross(out));
  return out;
}

}  // namespace attnscope
