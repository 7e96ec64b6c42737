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

// Bounds on the largest singular values of a matrix from a few directions.

/// Bound on the error of a sum of the largest σ², relative to Σσ², if it is computed from a Gram
/// matrix of order n in float64. The Gram matrix and its reduction have errors of a small multiple
/// of n 2^-53 of its norm, which is at most Σσ²; each of its n eigenvalues moves by no more than
/// that.
double error_of_energies(std::size_t n);

/// Bounds by leading directions on S_m = σ_1² + … + σ_m².
struct LeadingDirections {
  double energy = 0;           // Σσ²
  std::vector<double> values;  // (b,) descending eigenvalues θ of Θ = QᵀGQ; S_m ≥ θ_1 + … + θ_m
  double captured() const;  // Σθ / Σσ²
};

/// 8 directions from two passes over the matrix: enough for a map with one dominant column.
/// `lower`: the matrix is lower triangular. Needs compute.kernels.available().
LeadingDirections sketch(MatrixView<const float> matrix, bool lower, const Compute& compute);

/// The rank, if S_m ≤ Σ_{i≤m} θ_i + (Σσ² − Σθ) proves it.
std::optional<std::int64_t> rank_by_trace(const LeadingDirections& directions, double threshold,
                                          double error);

/// The smallest m with θ_1 + … + θ_m > `wanted`. Then S_m > `wanted` too, by Cauchy's interlacing.
std::optional<std::size_t> reached_at(const LeadingDirections& directions, double wanted);

/// Numbers from −1 to 1 that are the same in every run. Source: splitmix64, Steele et al. 2014.
double scattered(std::uint64_t index);

/// Descending eigenvalues of a symmetric matrix (order, order), its lower triangle column-major;
/// empty if LAPACK did not converge.
std::vector<double> descending_eigenvalues(std::vector<double> lower, std::size_t order);

/// matrixᵀ · matrix for a row-major (rows, width) matrix: (width, width), lower triangle,
/// column-major.
std::vector<double> gram_of_columns(const double* matrix, std::size_t rows, std::size_t width);

}  // namespace attnscope
