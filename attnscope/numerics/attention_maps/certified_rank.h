// Energy ranks of large matrices from a few directions, proven, or else from all singular values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct RankOrValues {
  std::optional<std::int64_t> rank;  // proven
  std::vector<double> values;        // (n,) descending, where nothing was proven
};

/// The smallest r with σ_1² + … + σ_r² ≥ threshold Σσ², 0 < threshold < 1, of a square matrix of
/// finite elements, each row's together. A rank is given only where the sums on both sides differ
/// from the threshold by more than error_of_energies() Σσ²; else there are the singular values,
/// with that accuracy. docs/numerics.md has the proofs. Throws Error(numerical) where no solver
/// converges, which without kernels may be.
RankOrValues energy_rank_or_values(MatrixView<const float> matrix, double threshold,
                                   const Compute& compute = {});

}  // namespace attnscope
