// LayoutLM: BERT with embeddings of each token's box. Text without boxes has zero boxes. Source:
// huggingface/transformers, models/{layoutlm,layoutlmv3}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();
Architecture roberta();

Architecture layoutlm() {
  Architecture architecture = bert();
  architecture.name = "layoutlm";
  architecture.model_types = {"layoutlm"};
  architecture.class_families = {"LayoutLM"};
  architecture.prefixes = {"layoutlm.", ""};
  const std::string x = "embeddings.x_position_embeddings.weight";
  const std::string y = "embeddings.y_position_embeddings.weight";
  architecture.embedding.added = {x,  // left, upper, right, lower
                                  y,
                                  x,
                                  y,
                                  "embeddings.h_position_embeddings.weight",
                                  "embeddings.w_position_embeddings.weight"};
  architecture.causal = {"", false};
  return architecture;
}

/// Zero boxes have the same biases between any two tokens, which do not change the softmax. So only
/// the biases in one dimension are read.
Architecture layoutlmv3() {
  Architecture architecture = roberta();
  architecture.name = "layoutlmv3";
  architecture.model_types = {"layoutlmv3"};
  architecture.class_families = {"LayoutLMv3"};
  architecture.prefixes = {"layoutlmv3.", ""};
  const std::string x = "embeddings.x_position_embeddings.weight";
  const std::string y = "embeddings.y_position_embeddings.weight";
  architecture.embedding.joined = {x,  // left, upper, right, lower
                                   y,
                                   x,
                                   y,
                                   "embeddings.h_position_embeddings.weight",
                                   "embeddings.w_position_embeddings.weight"};
  architecture.scores.buckets = BucketRule{.table = "encoder.rel_pos_bias.weight",
                                           .count = {"rel_pos_bins", 32},
                                           .distant = {"max_rel_pos", 128},
                                           .by_head = true,
                                           .scaled = true,
                                           .enabled = {"has_relative_attention_bias", true}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.head = {.none = "it has no LM head"};
  architecture.head_marker = "";
  architecture.repeated.clear();
  architecture.others.push_back({"position_bias", "encoder.rel_pos_*_bias.weight"});
  architecture.causal = {"", false};
  return architecture;
}

}  // namespace attnscope
