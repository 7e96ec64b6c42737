// BERT and RoBERTa: encoders with one Linear per projection; they differ in prefix and head.
// Source: huggingface/transformers, models/bert/modeling_bert.py, BertSelfAttention;
// models/roberta/modeling_roberta.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert() {
  using enum Role;
  return {
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
      .others = {{"position_embedding", "embeddings.position_embeddings.weight"},
                 {"token_type_embedding", "embeddings.token_type_embeddings.weight"},
                 // weight and bias, gamma and beta in old files
                 {"norm", "encoder.layer.{layer}.*LayerNorm.*"},
                 {"norm", "embeddings.LayerNorm.*"},
                 {"pooler", "pooler.*"}},
      .embedding = "embeddings.word_embeddings.weight",
      .output_head = {"cls.predictions.decoder.weight"},
      .head_marker = "cls.predictions.*",
      .repeated = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}},
      .causal = false,
      .norm = NormRule{.previous = "encoder.layer.{layer}.output.LayerNorm.weight",
                       .embedding = "embeddings.LayerNorm.weight"},
      .buffers = {"*.position_ids", "*.token_type_ids"},
  };
}

Architecture roberta() {
  Architecture architecture = bert();
  architecture.name = "roberta";
  architecture.model_types = {"roberta"};
  architecture.class_families = {"Roberta"};
  architecture.prefixes = {"roberta.", ""};
  architecture.output_head = {"lm_head.decoder.weight"};
  architecture.head_marker = "lm_head.*";
  architecture.repeated = {{"lm_head.decoder.bias", "lm_head.bias"}};
  return architecture;
}

}  // namespace attnscope
