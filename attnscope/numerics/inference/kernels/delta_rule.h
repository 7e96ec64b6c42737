// The recurrence of Gated DeltaNet; see numerics/inference/delta_rule.h.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// Columns of the state that are computed together at most: so many of 128 rows stay in the first
/// cache.
inline constexpr std::int64_t kDeltaRuleColumns = 64;

struct DeltaRule {
  MatrixView<const float> queries, keys, values;
  const float* decays;
  const float* steps;
  MatrixView<float> state, out;
  float* scratch;  // state.rows + 1 times kDeltaRuleColumns, aligned
};

void apply_delta_rule(Kernels kernels, const DeltaRule& rule);

}  // namespace attnscope::kernels
