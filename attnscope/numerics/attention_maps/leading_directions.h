// What a few directions say of the largest singular values of a matrix.
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

/// What the leading directions of a matrix say of S_m = σ_1² + … + σ_m².
struct LeadingDirections {
  double energy = 0;           // Σσ²
  std::vector<double> values;  // (b,) descending eigenvalues θ of Θ = QᵀGQ; S_m ≥ θ_1 + … + θ_m
  double captured() const;  // Σθ / Σσ²
};

/// From two passes over the matrix, with 8 directions: enough for a map of one column. `lower`: it
/// is lower triangular. Needs compute.kernels.available().
LeadingDirections sketch(MatrixView<const float> matrix, bool lower, const Compute& compute);

/// The rank where S_m ≤ Σ_{i≤m} θ_i + (Σσ² − Σθ) proves it.
std::optional<std::int64_t> rank_by_trace(const LeadingDirections& directions, double threshold,
                                          double error);

/// The smallest m with θ_1 + … + θ_m above `wanted`: S_m is as well, by Cauchy's interlacing.
std::optional<std::size_t> reached_at(const LeadingDirections& directions, double wanted);

/// Numbers from −1 to 1 that are the same in every run. Source: splitmix64, Steele et al. 2014.
double scattered(std::uint64_t index);

/// Descending eigenvalues of a symmetric matrix (order, order), its lower triangle column-major;
/// empty where LAPACK did not converge.
std::vector<double> descending_eigenvalues(std::vector<double> lower, std::size_t order);

/// matrixᵀ · matrix of a row-major (rows, width): (width, width), lower triangle, column-major.
std::vector<double> gram_of_columns(const double* matrix, std::size_t rows, std::size_t width);

}  // namespace attnscope
