// The best approximation of lower rank of a matrix on the inputs of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// G = sums / rows, and `ridge` times the mean of its diagonal more on it.
struct MeanMoments {
  MatrixView<const double> sums;  // (n, n), of which the lower triangle is read
  std::int64_t rows = 1;
  double ridge = 0;
};

/// Principal directions of W x: with G the mean of x xᵀ, the eigenvectors of W G Wᵀ. P the first r
/// of them, Pᵀ P W is the matrix of rank r with the least E‖(W − W_r) x‖², which is the sum of the
/// other energies. No inverse of G is needed. Source: the principal components of the outputs; the
/// same W_r as SVD-LLM's (Wang et al. 2024), which factors G.
struct OutputDirections {
  std::vector<double> energies;  // (k,) descending, k = min(m, n), none negative
  Matrix<double> basis;          // (most, m), orthonormal rows where the energy is not 0
};

/// `weight` (m, n); `most`: of the directions, k where none is given. No copy of G is made: of a
/// matrix of more rows than columns one of order n is, its root.
OutputDirections output_directions(MatrixView<const double> weight, const MeanMoments& moments,
                                   const Compute& compute, std::optional<std::int64_t> most = {});
/// The energies alone.
std::vector<double> output_energies(MatrixView<const double> weight, const MeanMoments& moments,
                                    const Compute& compute);
/// Those of G itself, (n,), descending.
std::vector<double> input_energies(const MeanMoments& moments, const Compute& compute);

/// What they take for a matrix (m, n), with the matrix: directions, or both kinds of energies.
std::uint64_t output_directions_bytes(std::int64_t rows, std::int64_t cols);
std::uint64_t energies_bytes(std::int64_t rows, std::int64_t cols);

/// Pᵀ P W of the first `rank` directions, (m, n). `weight` is dropped on the way.
Matrix<double> truncated(Matrix<double> weight, const OutputDirections& directions,
                         std::int64_t rank, const Compute& compute);

/// X with X · (a + ε I) = right, ε that share of the mean of a's diagonal: where that is not
/// positive definite to rounding, as of a text with fewer tokens than inputs, with ten times the
/// share, and so on. Throws Error(numerical) where `a` is zero. Copies nothing that is given.
Matrix<double> solve_ridged(Matrix<double> a, double share, Matrix<double> right);

/// tr(W G Wᵀ): E‖W x‖².
double output_energy(MatrixView<const double> weight, MatrixView<const double> moments,
                     const Compute& compute);

/// W' (m, s) with the least E‖W x − W' x_S‖², x_S the `kept` of x: W G[:, S] (G[S, S] + ε I)⁻¹, ε
/// 1e-8 of the mean of the diagonal. G has no ridge of its own. Holds a matrix of order s beside
/// W'.
Matrix<double> refitted(MatrixView<const double> weight, const MeanMoments& moments,
                        const std::vector<std::int64_t>& kept, const Compute& compute);

/// The rows, or columns, with these numbers.
Matrix<double> rows_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept);
Matrix<double> columns_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept);

/// A B, of (m, k) and (k, n).
Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b,
                       const Compute& compute);

}  // namespace attnscope
