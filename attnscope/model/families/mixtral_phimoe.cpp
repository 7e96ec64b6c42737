// Mixtral, and Phi-3.5-MoE, which has its own expert selection (sparsemixer) and LayerNorms with
// biases. Source: huggingface/transformers, models/{mixtral,phimoe}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture mistral();

namespace {

Architecture like_mixtral(const char* name, const char* class_family, MoeRule rule) {
  const std::string place = "layers.{layer}.block_sparse_moe";
  Architecture architecture = mistral();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  architecture.norm->epsilon = {"rms_norm_eps", 1e-5};
  architecture.rope->theta = 1e6;
  architecture.window = WindowRule{.size = {"sliding_window"}};
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  rule.experts = {"num_local_experts", "num_experts"};
  rule.chosen = {"num_experts_per_tok"};
  rule.default_chosen = 2;
  rule.tensors = {tensors_of_each_expert(place, "w1", "w3", "w2")};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace

Architecture mixtral() {
  return like_mixtral("mixtral", "Mixtral",
                      {.default_experts = 8,
                       .width = {"intermediate_size", 14336},
                       .score = RouterScore::softmax,
                       .normalize = {"", true}});
}

Architecture phimoe() {
  using enum Role;
  Architecture architecture = like_mixtral("phimoe", "Phimoe",
                                           {.default_experts = 16,
                                            .width = {"intermediate_size", 6400},
                                            .score = RouterScore::sparsemixer,
                                            .jitter = {"router_jitter_noise", 0.01}});
  architecture.norm->kind = NormKind::layer;
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  architecture.head.bias = {"lm_head.bias"};
  architecture.rope->gains_by_length = true;
  return architecture;
}

}  // namespace attnscope
