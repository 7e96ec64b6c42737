// Energy ranks of large matrices, proven from a few directions or else computed from all singular
// values.
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

/// Returns the smallest r with σ_1² + … + σ_r² ≥ threshold Σσ², 0 < threshold < 1, of a square
/// matrix of finite elements with contiguous rows. Returns a rank only if the sums on both sides
/// differ from the threshold by more than error_of_energies() Σσ². Otherwise returns the singular
/// values, with that accuracy. docs/numerics.md has the proofs. Throws Error(numerical) if no
/// solver converges, which is possible without kernels.
RankOrValues energy_rank_or_values(MatrixView<const float> matrix, double threshold,
                                   const Compute& compute = {});

// Energy ranks from a subspace that contains the leading directions.

/// Returns the share of the energy that a subspace needs before its bounds are likely to decide the
/// rank.
double deciding_share(double threshold);

/// Returns the rank if `width` directions of G prove it. `width` must be a multiple of 24, and G
/// (n, n) is in tiles as made by gram_tiles(). Empty if they do not prove it, or if so few
/// directions have no chance.
std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute);

// Bounds on the largest singular values of a matrix from a few directions.

/// Returns a bound on the relative error of a sum of the largest σ² (relative to Σσ²), computed
/// from a float64 Gram matrix of order n. The Gram matrix and its reduction have errors of a small
/// multiple of n 2^-53 of its norm, which is at most Σσ². Each of its n eigenvalues moves by no
/// more than that.
double error_of_energies(std::size_t n);

/// Leading directions, which give bounds on S_m = σ_1² + … + σ_m².
struct LeadingDirections {
  double energy = 0;           // Σσ²
  std::vector<double> values;  // (b,) descending eigenvalues θ of Θ = QᵀGQ; S_m ≥ θ_1 + … + θ_m
  double captured() const;  // Σθ / Σσ²
};

/// Returns 8 directions from two passes over the matrix, enough for a map with one dominant column.
/// `lower`: the matrix is lower triangular. Requires compute.kernels.available().
LeadingDirections sketch(MatrixView<const float> matrix, bool lower, const Compute& compute);

/// Returns the rank if S_m ≤ Σ_{i≤m} θ_i + (Σσ² − Σθ) proves it.
std::optional<std::int64_t> rank_by_trace(const LeadingDirections& directions, double threshold,
                                          double error);

/// Returns the smallest m with θ_1 + … + θ_m > `wanted`. Then S_m > `wanted` too, by Cauchy
/// interlacing.
std::optional<std::size_t> reached_at(const LeadingDirections& directions, double wanted);

/// Returns a pseudorandom number from −1 to 1 that is the same in every run. Source: splitmix64,
/// Steele et al. 2014.
double scattered(std::uint64_t index);

/// Returns the eigenvalues, descending, of a symmetric matrix (order, order), given by its lower
/// triangle, column-major. Empty if LAPACK did not converge.
std::vector<double> descending_eigenvalues(std::vector<double> lower, std::size_t order);

/// Returns matrixᵀ · matrix for a row-major (rows, width) matrix: (width, width), lower triangle,
/// column-major.
std::vector<double> gram_of_columns(const double* matrix, std::size_t rows, std::size_t width);

}  // namespace attnscope
