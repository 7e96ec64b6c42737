// ELECTRA: BERT's layers, embeddings that may be narrower, and a generator's head. Discriminators
// tell replaced tokens from others, and give no logits over tokens.
// Source: huggingface/transformers, models/electra/modeling_electra.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture electra() {
  Architecture architecture = bert();
  architecture.name = "electra";
  architecture.model_types = {"electra"};
  architecture.class_families = {"Electra"};
  architecture.prefixes = {"electra.", ""};
  architecture.embedding.projection = "embeddings_project.weight";
  architecture.embedding.projects_if_narrow = true;
  architecture.embedding.width = {"embedding_size", 128};
  architecture.head = {.weight = {"generator_lm_head.weight"},
                       .bias = {"generator_lm_head.bias"},
                       .needs_bias = true,
                       .dense = "generator_predictions.dense.weight",
                       .norm = "generator_predictions.LayerNorm",
                       .activation = "gelu"};  // whatever the MLP's is
  architecture.others = {};
  architecture.head_marker = "generator_*";
  architecture.repeated = {};
  return architecture;
}

}  // namespace attnscope
