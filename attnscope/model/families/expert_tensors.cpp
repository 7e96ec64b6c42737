#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

ExpertTensors tensors_of_each_expert(const std::string& place, const std::string& gate,
                                     const std::string& up, const std::string& down) {
  const std::string expert = place + ".experts.{expert}.";
  ExpertTensors out;
  if (!gate.empty()) out.weights.push_back({Role::gate, expert + gate + ".weight"});
  out.weights.push_back({Role::up, expert + up + ".weight"});
  out.weights.push_back({Role::down, expert + down + ".weight"});
  return out;
}

ExpertTensors stacked_experts(const std::string& gate_up, const std::string& down, Storage storage,
                              std::int64_t groups) {
  const auto half = [&](Role role) {
    return WeightRule{.role = role,
                      .tensor = gate_up,
                      .storage = storage,
                      .fused = {Role::gate, Role::up},
                      .groups = groups};
  };
  return {.weights = {half(Role::gate), half(Role::up), {Role::down, down, storage}},
          .either_way = true};
}

std::vector<ExpertTensors> usual_expert_tensors(const std::string& place) {
  return {tensors_of_each_expert(place),
          stacked_experts(place + ".experts.gate_up_proj", place + ".experts.down_proj")};
}

MoeRule biased_router(const std::string& place) {
  return {.experts = {"n_routed_experts", "num_local_experts"},
          .chosen = {"num_experts_per_tok"},
          .width = {"moe_intermediate_size", 1408},
          .tensors = usual_expert_tensors(place),
          .score = RouterScore::sigmoid,
          .choice_bias = {place + ".gate.e_score_correction_bias"},
          .groups = {"n_group", 1},
          .kept_mlp_groups = {"topk_group", 1},
          .group_score = GroupScore::sum_of_two_best,
          .normalize_epsilon = 1e-20,
          .times = {"routed_scaling_factor", 1}};
}

void add_shared_experts(Architecture& architecture, const std::string& place) {
  architecture.weights.push_back({Role::shared_gate, place + ".gate_proj.weight"});
  architecture.weights.push_back({Role::shared_up, place + ".up_proj.weight"});
  architecture.weights.push_back({Role::shared_down, place + ".down_proj.weight"});
}

void add_experts(Architecture& architecture, const std::string& place, MoeRule rule) {
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  add_shared_experts(architecture, place + ".shared_experts");
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
}

}  // namespace attnscope
