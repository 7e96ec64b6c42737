// dots.llm1: Qwen3's attention, DeepSeek-V3's router and experts.
// Source: huggingface/transformers, models/dots1.
#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

Architecture qwen3();

Architecture dots1() {
  const std::string mlp = "layers.{layer}.mlp";
  Architecture architecture = qwen3();
  architecture.name = "dots1";
  architecture.model_types = {"dots1"};
  architecture.class_families = {"Dots1"};
  architecture.keys.head_dim.fallback = {};
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::from_layer,
                                   .number = {"max_window_layers", 62},
                                   .reads_layer_types = true};
  MoeRule rule = biased_router(mlp);
  rule.layers = {.first = {"first_k_dense_replace", 0}};
  rule.normalize = {"norm_topk_prob", false};
  rule.shared_count = {"n_shared_experts"};
  add_experts(architecture, mlp, std::move(rule));
  return architecture;
}

}  // namespace attnscope
