// The best low-rank approximation of a matrix on the inputs of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// G = sums / rows, plus `ridge` times the mean of its diagonal on the diagonal.
struct MeanMoments {
  MatrixView<const double> sums;  // (n, n), only the lower triangle is read
  std::int64_t rows = 1;
  double ridge = 0;
};

/// Principal directions of W x. With G the mean of x xᵀ, they are the eigenvectors of W G Wᵀ. For P
/// the first r of them, Pᵀ P W is the rank-r matrix with the smallest E‖(W − W_r) x‖², which is the
/// sum of the remaining energies. Needs no inverse of G. Source: principal components of the
/// outputs; SVD-LLM (Wang et al. 2024), which factors G, finds the same W_r.
struct OutputDirections {
  std::vector<double> energies;  // (k,) descending, k = min(m, n), never negative
  Matrix<double> basis;          // (most, m), orthonormal rows unless the energy is 0
};

/// `weight` (m, n). `most`: number of directions, by default k. Does not copy G, but for a matrix
/// with more rows than columns computes a root of G, of order n.
OutputDirections output_directions(MatrixView<const double> weight, const MeanMoments& moments,
                                   const Compute& compute, std::optional<std::int64_t> most = {});
/// Only the energies.
std::vector<double> output_energies(MatrixView<const double> weight, const MeanMoments& moments,
                                    const Compute& compute);
/// The energies of G itself, (n,), descending.
std::vector<double> input_energies(const MeanMoments& moments, const Compute& compute);

/// Memory of these functions for a matrix (m, n), including the matrix: with directions, or for
/// both kinds of energies.
std::uint64_t output_directions_bytes(std::int64_t rows, std::int64_t cols);
std::uint64_t energies_bytes(std::int64_t rows, std::int64_t cols);

/// Returns Pᵀ P W for the first `rank` directions, (m, n). Frees `weight` on the way.
Matrix<double> truncated(Matrix<double> weight, const OutputDirections& directions,
                         std::int64_t rank, const Compute& compute);

/// Returns X with X · (a + ε I) = right, where ε is `share` times the mean of the diagonal of `a`.
/// If that is numerically not positive definite, e.g. for a text with fewer tokens than inputs,
/// retries with ten times the share until it succeeds. Throws Error(numerical) if `a` is zero.
/// Makes no copies of its arguments.
Matrix<double> solve_ridged(Matrix<double> a, double share, Matrix<double> right);

/// Returns tr(W G Wᵀ) = E‖W x‖².
double output_energy(MatrixView<const double> weight, MatrixView<const double> moments,
                     const Compute& compute);

/// Returns W' (m, s) with the smallest E‖W x − W' x_S‖², where x_S are the `kept` elements of x. It
/// is W G[:, S] (G[S, S] + ε I)⁻¹, with ε 1e-8 of the mean of the diagonal. G must have no ridge of
/// its own. Needs memory for a matrix of order s in addition to W'.
Matrix<double> refitted(MatrixView<const double> weight, const MeanMoments& moments,
                        const std::vector<std::int64_t>& kept, const Compute& compute);

/// Selects the rows, or columns, with these indices.
Matrix<double> rows_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept);
Matrix<double> columns_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept);

/// Returns A B for (m, k) and (k, n).
Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b,
                       const Compute& compute);

}  // namespace attnscope
