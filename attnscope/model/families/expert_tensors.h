// The names that most families give the matrices of their experts.
#pragma once

#include <string>
#include <vector>

#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {

/// One tensor each: `<place>.experts.{expert}.<gate>.weight`, or none of a name that is empty.
/// `place`: of the MLP, a pattern.
ExpertTensors tensors_of_each_expert(const std::string& place,
                                     const std::string& gate = "gate_proj",
                                     const std::string& up = "up_proj",
                                     const std::string& down = "down_proj");

/// Stacked: gate and up in `gate_up`, (E, 2 F, D) or (E, D, 2 F), and `down`.
ExpertTensors stacked_experts(const std::string& gate_up, const std::string& down,
                              Storage storage = Storage::out_by_in, std::int64_t groups = 1);

/// Both, as one family's files have them: the stacked ones under `<place>.experts`.
std::vector<ExpertTensors> usual_expert_tensors(const std::string& place);

/// DeepSeek-V3's router, as several families have it: sigmoids, with a bias that only chooses.
MoeRule biased_router(const std::string& place);

/// Adds the matrices of shared experts under `place`, a pattern.
void add_shared_experts(Architecture& architecture, const std::string& place);

/// Adds experts that `rule` describes, with DeepSeek's names: `<place>.gate` is the router, and
/// `<place>.shared_experts` holds the shared experts.
void add_experts(Architecture& architecture, const std::string& place, MoeRule rule);

}  // namespace attnscope
