// RoFormer (RoPE in BERT's layers) and RemBERT, whose embeddings are narrower than its hidden size,
// with an LM head of another width. Source: huggingface/transformers, models/{roformer,rembert}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture roformer() {
  Architecture architecture = bert();
  architecture.name = "roformer";
  architecture.model_types = {"roformer"};
  architecture.class_families = {"Ro"};  // "RoFormerModel" up to "For"
  architecture.prefixes = {"roformer.", ""};
  EmbeddingRule& embedding = architecture.embedding;
  embedding.positions.clear();
  embedding.projection = "embeddings_project.weight";
  embedding.projects_if_narrow = true;
  embedding.width = {"embedding_size"};
  architecture.rope = RopeRule{.theta_key = "", .neighbors = {"", true}};
  architecture.longest = LongestRule{.unit = {"max_position_embeddings", 1536}};
  architecture.buffers.push_back("*.embed_positions.weight");
  architecture.label_heads.front() = {.task = LabelTask::sequence,
                                      .weight = "classifier.out_proj.weight",
                                      .dense = "classifier.dense.weight",
                                      .activation = "gelu",
                                      .activation_key = "hidden_act"};
  architecture.layouts = {
      not_run_if(architecture, {"rotary_value", {"true"}},
                 "'rotary_value' is true: values are rotated, which is not supported")};
  return architecture;
}

Architecture rembert() {
  Architecture architecture = bert();
  architecture.name = "rembert";
  architecture.model_types = {"rembert"};
  architecture.class_families = {"RemBert"};
  architecture.prefixes = {"rembert.", ""};
  architecture.embedding.projection = "encoder.embedding_hidden_mapping_in.weight";
  architecture.embedding.width = {"input_embedding_size", 256};
  HeadRule& head = architecture.head;
  head.bias = {"cls.predictions.decoder.bias"};
  head.dense = "cls.predictions.dense.weight";
  head.norm = "cls.predictions.LayerNorm";
  head.width = {"output_embedding_size", 1664};
  architecture.repeated.clear();
  architecture.tied_by_default = false;
  return architecture;
}

}  // namespace attnscope
