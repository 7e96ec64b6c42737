// ELECTRA: BERT's layers, optionally narrower embeddings, and the head of a generator.
// Discriminators detect replaced tokens and have no logits over tokens. Source:
// huggingface/transformers, models/electra/modeling_electra.py.
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
                       .activation = "gelu"};  // regardless of the MLP's activation
  architecture.label_heads.front() = {.task = LabelTask::sequence,
                                      .weight = "classifier.out_proj.weight",
                                      .dense = "classifier.dense.weight",
                                      .activation = "gelu"};
  architecture.others = {};
  architecture.head_marker = "generator_*";
  architecture.repeated = {};
  return architecture;
}

}  // namespace attnscope
