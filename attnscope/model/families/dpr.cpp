// DPR, dense passage retrieval: BERT under another prefix, without a head over tokens. Source:
// huggingface/transformers, models/dpr/modeling_dpr.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture dpr() {
  Architecture architecture = bert();
  architecture.name = "dpr";
  architecture.model_types = {"dpr"};
  architecture.class_families = {"DPRContextEncoder", "DPRQuestionEncoder", "DPRReader"};
  architecture.prefixes = {"ctx_encoder.bert_model.", "question_encoder.bert_model.",
                           "span_predictor.encoder.bert_model."};
  architecture.head = {.none = "DPR has no LM head"};
  architecture.head_marker.clear();
  architecture.repeated.clear();
  return architecture;
}

}  // namespace attnscope
