// Which experts a token is sent to, and how much each counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Of each row, the best first.
struct ChosenExperts {
  std::int64_t chosen = 0;            // k
  std::vector<std::int64_t> experts;  // (rows, k)
  std::vector<float> weights;         // (rows, k)
  /// (rows,): 1 where an expert that was not chosen, or one of a group that was not, had as large a
  /// score as one that was; else 0.
  std::vector<std::uint8_t> tied;
};

/// `logits`: (rows, E). `choice_bias`: (E,), or empty. Of equal scores the lower expert is better;
/// a NaN is the worst. Source: the routers of transformers 5.23 that RouterScore names.
ChosenExperts choose_experts(const ExpertSpec& spec, MatrixView<const float> logits,
                             std::span<const float> choice_bias, const Compute& compute);

}  // namespace attnscope
