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
      .others = {{"position_embedding", "embeddings.position_embeddings.weight"},
                 {"norm", "embeddings.LayerNorm.*"},
                 {"norm", "transformer.layer.{layer}.sa_layer_norm.*"},
                 {"norm", "transformer.layer.{layer}.output_layer_norm.*"}},
      .embedding = "embeddings.word_embeddings.weight",
      .output_head = {"vocab_projector.weight"},
      .head_marker = "vocab_*",
      .causal = false,
      .norm = NormRule{.previous = "transformer.layer.{layer}.output_layer_norm.weight",
                       .embedding = "embeddings.LayerNorm.weight"},
      .buffers = {"*.position_ids"},
  };
}

}  // namespace attnscope
