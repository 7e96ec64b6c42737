// StarCoder 1: GPT-2's layers with Linear weights, and multi-query attention (one key/value head).
// Source: huggingface/transformers, models/gpt_bigcode.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture gpt2();

Architecture gpt_bigcode() {
  Architecture architecture = gpt2();
  architecture.name = "gpt_bigcode";
  architecture.model_types = {"gpt_bigcode"};
  architecture.class_families = {"GPTBigCode"};
  architecture.keys.one_kv_head = {"multi_query", true};
  for (WeightRule& rule : architecture.weights) {
    rule.storage = Storage::out_by_in;
    if (!rule.fused.empty()) rule.groups = kPerKvHead;
  }
  architecture.scores = {.scaled = {"scale_attn_weights", true}};
  architecture.activation = "gelu_pytorch_tanh";
  return architecture;
}

}  // namespace attnscope
