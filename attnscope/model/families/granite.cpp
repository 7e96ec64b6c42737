// Granite: Llama with constant factors on embedding, residual branches and logits; also as MoE.
// Granite 4 (granitemoehybrid): Mamba-2 in most layers. Source: huggingface/transformers,
// models/{granite,granitemoe,granitemoeshared,granitemoehybrid}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

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

namespace {

/// Granite 4. `dense`: the variant without routed experts, in which the shared expert is the MLP.
Architecture granite_hybrid(bool dense, bool rotates) {
  using enum Role;
  Architecture architecture = granitemoeshared();
  architecture.name = "granitemoehybrid";
  architecture.model_types = {"granitemoehybrid"};
  architecture.class_families = {"GraniteMoeHybrid"};
  architecture.mixers =
      std::make_shared<MixerRule>(MixerRule{.kinds = mamba_or_attention(kMamba2),
                                            .list_keys = {"layer_types", "layers_block_type"},
                                            .usual = "linear_attention",
                                            .mamba2 = bamba_mixer("layers.{layer}.mamba")});
  if (!rotates) architecture.rope.reset();
  if (dense) {
    const std::string both = "layers.{layer}.shared_mlp.input_linear.weight";
    std::erase_if(architecture.weights,
                  [](const WeightRule& rule) { return is_beside_experts(rule.role); });
    for (const Role part : {gate, up}) {
      architecture.weights.push_back({.role = part, .tensor = both, .fused = {gate, up}});
    }
    architecture.weights.push_back({down, "layers.{layer}.shared_mlp.output_linear.weight"});
    architecture.experts = nullptr;
    architecture.keys.mlp_width = {"shared_intermediate_size", 1024};
    return architecture;
  }
  MoeRule rule = *architecture.experts;
  rule.shared_width = {"shared_intermediate_size", 1024};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace

Architecture granitemoehybrid() {
  const ConfigCondition no_experts = {"num_local_experts", {"0"}};
  const ConfigCondition rope = {"position_embedding_type", {"\"rope\""}};
  const ConfigCondition none = {"position_embedding_type", {"\"nope\"", "null"}};
  const auto layout = [&](bool dense, bool rotates) {
    Architecture own = granite_hybrid(dense, rotates);
    own.conditions = {rotates ? rope : none};
    if (dense) own.conditions.push_back(no_experts);
    return own;
  };
  Architecture architecture = granite_hybrid(/*dense=*/false, /*rotates=*/false);
  Architecture dense = granite_hybrid(/*dense=*/true, /*rotates=*/false);
  dense.conditions = {no_experts};
  architecture.layouts = {layout(true, true), layout(true, false), layout(false, true),
                          layout(false, false), std::move(dense)};
  return architecture;
}

}  // namespace attnscope
