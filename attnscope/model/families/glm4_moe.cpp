// GLM-4.5 and dots.llm1: DeepSeek-V3's router beside ordinary attention.
// Source: huggingface/transformers, models/{glm4_moe,dots1}.
#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

Architecture qwen3();

namespace {

Architecture with_experts(const char* name, const char* class_family, MoeRule rule,
                          const std::string& place) {
  Architecture architecture = qwen3();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  architecture.keys.head_dim.fallback = {};
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  add_shared_experts(architecture, place + ".shared_experts");
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

const std::string kMoePlace = "layers.{layer}.mlp";

}  // namespace

Architecture glm4_moe() {
  using enum Role;
  MoeRule rule = biased_router(kMoePlace);
  rule.default_experts = 128;
  rule.default_chosen = 8;
  rule.layers = {.first = {"first_k_dense_replace", 1}};
  rule.normalise = {"norm_topk_prob", true};
  rule.shared_count = {"n_shared_experts", 1};
  Architecture architecture = with_experts("glm4_moe", "Glm4Moe", std::move(rule), kMoePlace);
  architecture.keys.kv_heads.fallback = 8;
  architecture.norm->epsilon = {"rms_norm_eps", 1e-5};
  architecture.norm->queries_and_keys = {"use_qk_norm", false};
  architecture.biases = {{{query, key, value}, {"attention_bias"}}};
  architecture.window = {};
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  return architecture;
}

Architecture dots1() {
  MoeRule rule = biased_router(kMoePlace);
  rule.layers = {.first = {"first_k_dense_replace", 0}};
  rule.normalise = {"norm_topk_prob", false};
  rule.shared_count = {"n_shared_experts"};
  Architecture architecture = with_experts("dots1", "Dots1", std::move(rule), kMoePlace);
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::from_layer,
                                   .number = {"max_window_layers", 62},
                                   .reads_layer_types = true};
  return architecture;
}

}  // namespace attnscope
