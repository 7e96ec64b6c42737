// RoBERTa, XLM-RoBERTa, CamemBERT, data2vec: BERT with other prefixes, position numbering and head.
// Source: huggingface/transformers, models/roberta/modeling_roberta.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture roberta() {
  Architecture architecture = bert();
  architecture.name = "roberta";
  architecture.model_types = {"roberta"};
  architecture.class_families = {"Roberta"};
  architecture.prefixes = {"roberta.", ""};
  architecture.embedding.positions_after_padding = true;
  architecture.padding_token = {"pad_token_id", 1};
  architecture.head = {.weight = {"lm_head.decoder.weight"},
                       .bias = {"lm_head.decoder.bias", "lm_head.bias"},
                       .needs_bias = true,
                       .dense = "lm_head.dense.weight",
                       .norm = "lm_head.layer_norm",
                       .activation = "gelu"};  // regardless of the MLP's activation
  architecture.label_heads.front() = {.task = LabelTask::sequence,
                                      .weight = "classifier.out_proj.weight",
                                      .dense = "classifier.dense.weight",
                                      .activation = "tanh"};
  architecture.head_marker = "lm_head.*";
  architecture.repeated = {{"lm_head.decoder.bias", "lm_head.bias"}};
  Architecture cross = *architecture.cross;
  cross.prefixes = architecture.prefixes;
  architecture.cross = std::make_shared<const Architecture>(std::move(cross));
  return architecture;
}

Architecture xlm_roberta() {
  Architecture architecture = roberta();
  architecture.name = "xlm-roberta";
  architecture.model_types = {"xlm-roberta"};
  architecture.class_families = {"XLMRoberta"};
  return architecture;
}

Architecture data2vec_text() {
  Architecture architecture = roberta();
  architecture.name = "data2vec-text";
  architecture.model_types = {"data2vec-text"};
  architecture.class_families = {"Data2VecText"};
  architecture.prefixes = {"data2vec_text.", ""};
  return architecture;
}

Architecture camembert() {
  Architecture architecture = roberta();
  architecture.name = "camembert";
  architecture.model_types = {"camembert"};
  architecture.class_families = {"Camembert"};
  return architecture;
}

}  // namespace attnscope
