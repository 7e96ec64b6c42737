// A mixture of experts as a layer has it, resolved from config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/expert_rule.h"

namespace attnscope {

/// See MoeRule. How many experts there are, and how wide, is in Dimensions.
struct ExpertSpec {
  std::int64_t chosen = 0;  // k
  RouterScore score = RouterScore::softmax;
  double jitter = 0;
  std::vector<std::string> choice_bias;
  std::int64_t groups = 1, kept_groups = 1;
  GroupScore group_score = GroupScore::best;
  bool normalise = false;
  double normalise_epsilon = 0, normalise_least = 0;
  double times = 1;
  bool weighs_input = false;
  std::optional<double> clamp;
  double alpha = 1;
  std::string shared_weight;   // pattern under the prefix; empty: shared experts count in full
  std::string expert_factors;  // likewise; empty: all are 1
  std::optional<ExpertNorms> norms;
};

}  // namespace attnscope
