// Energy ranks of large matrices from a few directions, proven, or else from all singular values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// How far a sum of the largest σ² may be off beside Σσ² where it comes from the Gram matrix of a
/// matrix of order n, in float64. That matrix and its reduction err by a small multiple of n 2^-53
/// of its norm, which is at most Σσ²; none of n eigenvalues moves by more.
double error_of_energies(std::size_t n);

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

/// What the leading directions of a matrix say of S_m = σ_1² + … + σ_m².
struct LeadingDirections {
  double energy = 0;           // Σσ²
  std::vector<double> values;  // (b,) descending eigenvalues θ of Θ = QᵀGQ; S_m ≥ θ_1 + … + θ_m
  double captured() const;  // Σθ / Σσ²
};

/// Two products with A and one with Aᵀ, kSketch columns each: enough for a map of one column. Needs
/// compute.kernels.available().
LeadingDirections sketch(MatrixView<const float> matrix, bool lower, const Compute& compute);

/// The rank where S_m ≤ Σ_{i≤m} θ_i + (Σσ² − Σθ) proves it.
std::optional<std::int64_t> rank_by_trace(const LeadingDirections& directions, double threshold,
                                          double error);

/// The rank where `width` directions of G, a multiple of 24, prove it; G (n, n) lies in tiles as
/// gram_tiles() makes it. Nothing where they do not, or are too few to go on with.
std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute);

}  // namespace attnscope
