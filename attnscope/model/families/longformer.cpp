// Longformer: RoBERTa with local attention. Text alone has no global tokens, so the projections of
// global attention are not used. Some classes make tokens global, and these are not run. Source:
// huggingface/transformers, models/longformer.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture roberta();

Architecture longformer() {
  Architecture architecture = roberta();
  architecture.name = "longformer";
  architecture.model_types = {"longformer"};
  architecture.class_families = {"Longformer"};
  architecture.prefixes = {"longformer.", ""};
  architecture.window = WindowRule{.size = {"attention_window", 512}};
  architecture.causal = {"", false};
  const std::string attention = "encoder.layer.{layer}.attention.self.";
  for (const char* part : {"query", "key", "value"}) {
    architecture.others.push_back({"global_attention", attention + part + "_global.*"});
  }
  architecture.label_heads = {{.task = LabelTask::token, .weight = "classifier.weight"}};
  const auto not_run_class = [&](const char* ending, const std::string& tokens) {
    return not_run_if(
        architecture, {"architectures", {std::string("*") + ending + "\"*"}},
        std::string(ending) + " gives " + tokens + " global attention, which is not supported");
  };
  architecture.layouts = {not_run_class("ForSequenceClassification", "the first token"),
                          not_run_class("ForQuestionAnswering", "the question"),
                          not_run_class("ForMultipleChoice", "the question")};
  return architecture;
}

}  // namespace attnscope
