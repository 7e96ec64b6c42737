// Granite: Llama with constant factors on the way of the stream; with experts, too.
// Source: huggingface/transformers, models/{granite,granitemoe,granitemoeshared}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture granite() {
  Architecture architecture = like_llama("granite", "Granite");
  architecture.scores.scale = {"attention_multiplier", 1};
  architecture.multipliers = {.embedding = {"embedding_multiplier", 1},
                              .branches = {"residual_multiplier", 1},
                              .logits_divisor = {"logits_scaling", 1}};
  return architecture;
}

Architecture granitemoe() {
  const std::string place = "layers.{layer}.block_sparse_moe";
  Architecture architecture = granite();
  architecture.name = "granitemoe";
  architecture.model_types = {"granitemoe"};
  architecture.class_families = {"GraniteMoe"};
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".router.layer.weight"});
  architecture.experts = std::make_shared<MoeRule>(MoeRule{
      .experts = {"num_local_experts"},
      .default_experts = 8,
      .chosen = {"num_experts_per_tok"},
      .default_chosen = 2,
      .width = {"intermediate_size", 11008},
      .tensors = {stacked_experts(place + ".input_linear.weight", place + ".output_linear.weight"),
                  tensors_of_each_expert(place)},  // GGUF
      .score = RouterScore::softmax_of_chosen});
  return architecture;
}

Architecture granitemoeshared() {
  using enum Role;
  const std::string both = "layers.{layer}.shared_mlp.input_linear.weight";
  Architecture architecture = granitemoe();
  architecture.name = "granitemoeshared";
  architecture.model_types = {"granitemoeshared"};
  architecture.class_families = {"GraniteMoeShared"};
  architecture.weights.push_back(
      {.role = shared_gate, .tensor = both, .fused = {shared_gate, shared_up}});
  architecture.weights.push_back(
      {.role = shared_up, .tensor = both, .fused = {shared_gate, shared_up}});
  architecture.weights.push_back({shared_down, "layers.{layer}.shared_mlp.output_linear.weight"});
  MoeRule rule = *architecture.experts;
  rule.shared_width = {"shared_intermediate_size", 0};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace attnscope
