// Energy ranks of large matrices: proven from a few directions, or else from all singular values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
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

// Energy ranks from a subspace that holds the leading directions.

/// The share of the energy that a subspace needs before its bounds are likely to decide.
double deciding_share(double threshold);

/// The rank, if `width` directions of G prove it; `width` is a multiple of 24; G (n, n) is in tiles
/// as gram_tiles() makes it. Nothing if they do not, or if so few directions have no chance.
std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute);

}  // namespace attnscope
