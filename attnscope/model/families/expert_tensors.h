// The names that most families use for the matrices of their experts.
#pragma once

#include <string>
#include <vector>

#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {

/// One tensor per matrix: `<place>.experts.{expert}.<gate>.weight`. An empty name omits that
/// matrix. `place`: the pattern of the MLP.
ExpertTensors tensors_of_each_expert(const std::string& place,
                                     const std::string& gate = "gate_proj",
                                     const std::string& up = "up_proj",
                                     const std::string& down = "down_proj");

/// Stacked: gate and up in `gate_up`, (E, 2 F, D) or (E, D, 2 F), and `down`.
ExpertTensors stacked_experts(const std::string& gate_up, const std::string& down,
                              Storage storage = Storage::out_by_in, std::int64_t groups = 1);

/// Both layouts, as files of one family have them. The stacked tensors are under `<place>.experts`.
std::vector<ExpertTensors> usual_expert_tensors(const std::string& place);

/// DeepSeek-V3's router, used by several families: sigmoid scores, with a bias that affects only
/// the selection.
MoeRule biased_router(const std::string& place);

/// Adds the matrices of shared experts under `place`, a pattern.
void add_shared_experts(Architecture& architecture, const std::string& place);

/// Adds experts that `rule` describes, with DeepSeek's names: `<place>.gate` is the router, and
/// `<place>.shared_experts` contains the shared experts.
void add_experts(Architecture& architecture, const std::string& place, MoeRule rule);

}  // namespace attnscope
