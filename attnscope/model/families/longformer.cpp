// Longformer: RoBERTa with local attention. Text alone has no global tokens, so the projections of
// global attention are not used. Source: huggingface/transformers, models/longformer.
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
  return architecture;
}

}  // namespace attnscope
