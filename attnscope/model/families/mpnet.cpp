// MPNet: BERT's layers under other names, with one table of distance biases shared by all layers.
// Source: huggingface/transformers, models/mpnet/modeling_mpnet.py, which has a fixed number of
// buckets.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture mpnet() {
  using enum Role;
  return {
      .name = "mpnet",
      .model_types = {"mpnet"},
      .class_families = {"MPNet"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .prefixes = {"mpnet.", ""},
      .weights =
          {
              {query, "encoder.layer.{layer}.attention.attn.q.weight"},
              {key, "encoder.layer.{layer}.attention.attn.k.weight"},
              {value, "encoder.layer.{layer}.attention.attn.v.weight"},
              {output, "encoder.layer.{layer}.attention.attn.o.weight"},
              {up, "encoder.layer.{layer}.intermediate.dense.weight"},
              {down, "encoder.layer.{layer}.output.dense.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "embeddings.word_embeddings.weight",
                    .positions = "embeddings.position_embeddings.weight",
                    .positions_after_padding = true,
                    .norm = "embeddings.LayerNorm"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_sum = "encoder.layer.{layer}.attention.LayerNorm",
                       .mlp_sum = "encoder.layer.{layer}.output.LayerNorm"},
      .scores = {.buckets = BucketRule{.table = "encoder.relative_attention_bias.weight"}},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .head = {.weight = {"lm_head.decoder.weight"},
               .bias = {"lm_head.decoder.bias", "lm_head.bias"},
               .needs_bias = true,
               .dense = "lm_head.dense.weight",
               .norm = "lm_head.layer_norm",
               .activation = "gelu"},  // regardless of the MLP's activation
      .label_heads = {{.task = LabelTask::sequence,
                       .weight = "classifier.out_proj.weight",
                       .dense = "classifier.dense.weight",
                       .activation = "tanh"},
                      {.task = LabelTask::token, .weight = "classifier.weight"},
                      {.task = LabelTask::span, .weight = "qa_outputs.weight"}},
      .others = {{"pooler", "pooler.*"}},
      .head_marker = "lm_head.*",
      .repeated = {{"lm_head.decoder.bias", "lm_head.bias"}},
      .causal = {"", false},
      .padding_token = {"pad_token_id", 1},
      .buffers = {"*.position_ids"},
  };
}

}  // namespace attnscope
