// Energy ranks of large matrices: proven from a few directions, or else from all singular values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct RankOrValues {
  std::optional<std::int64_t> rank;  // proven
  std::vector<double> values;        // (n,) descending, if no rank was proven
};

/// The smallest r with σ_1² + … + σ_r² ≥ threshold Σσ², 0 < threshold < 1, of a square matrix of
/// finite elements with contiguous rows. Returns a rank only if the sums on both sides differ from
/// the threshold by more than error_of_energies() Σσ²; else the singular values, with that
/// accuracy. docs/numerics.md has the proofs. Throws Error(numerical) if no solver converges, which
/// is possible without kernels.
RankOrValues energy_rank_or_values(MatrixView<const float> matrix, double threshold,
                                   const Compute& compute = {});

}  // namespace attnscope
