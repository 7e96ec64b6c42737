// DistilBERT: BERT's layers under other names, no token types, no pooler.
// Source: huggingface/transformers, models/distilbert/modeling_distilbert.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture distilbert() {
  using enum Role;
  return {
      .name = "distilbert",
      .model_types = {"distilbert"},
      .class_families = {"DistilBert"},
      .keys = {.layers = {"n_layers"},
               .heads = {"n_heads"},
               .width = {"dim"},
               .mlp_width = {"hidden_dim"}},
      .prefixes = {"distilbert.", ""},
      .weights =
          {
              {query, "transformer.layer.{layer}.attention.q_lin.weight"},
              {key, "transformer.layer.{layer}.attention.k_lin.weight"},
              {value, "transformer.layer.{layer}.attention.v_lin.weight"},
              {output, "transformer.layer.{layer}.attention.out_lin.weight"},
              {up, "transformer.layer.{layer}.ffn.lin1.weight"},
              {down, "transformer.layer.{layer}.ffn.lin2.weight"},
          },
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.tokens = "embeddings.word_embeddings.weight",
                    .positions = "embeddings.position_embeddings.weight",
                    .norm = "embeddings.LayerNorm"},
      .norm = NormRule{.epsilon = {"", 1e-12},
                       .attention_sum = "transformer.layer.{layer}.sa_layer_norm",
                       .mlp_sum = "transformer.layer.{layer}.output_layer_norm"},
      .activation_key = "activation",
      .activation = "gelu",
      .head = {.weight = {"vocab_projector.weight"},
               .bias = {"vocab_projector.bias"},
               .needs_bias = true,
               .dense = "vocab_transform.weight",
               .norm = "vocab_layer_norm"},
      .label_heads = {{.task = LabelTask::sequence,
                       .weight = "classifier.weight",
                       .dense = "pre_classifier.weight",
                       .activation = "relu"},
                      {.task = LabelTask::token, .weight = "classifier.weight"},
                      {.task = LabelTask::span, .weight = "qa_outputs.weight"}},
      .head_marker = "vocab_*",
      .causal = {"", false},
      .buffers = {"*.position_ids"},
  };
}

}  // namespace attnscope
