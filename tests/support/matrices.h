// Matrices whose singular values are known or hard to compute, with fixed seeds: every run uses the
// same ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::test {

Matrix<double> zero_matrix(std::int64_t rows, std::int64_t cols);

/// Ones on the diagonal. The matrix may be rectangular.
Matrix<double> identity_matrix(std::int64_t rows, std::int64_t cols);

/// Independent standard normal entries.
Matrix<double> gaussian_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed);

/// Independent integers from -limit to limit, so that sums of their products are exact.
Matrix<double> integer_matrix(std::int64_t rows, std::int64_t cols, int limit, std::uint64_t seed);

/// The top left part of Sylvester's Hadamard matrix: entries ±1. If rows = cols is a power of two,
/// every singular value is sqrt(rows).
Matrix<double> hadamard_matrix(std::int64_t rows, std::int64_t cols);

/// An orthogonal matrix times diag(planted) times another: `planted` has min(rows, cols) values in
/// any order. Rounding of the entries changes a singular value by about 2^-53 of the largest.
Matrix<double> matrix_with_singular_values(std::int64_t rows, std::int64_t cols,
                                           std::span<const double> planted, std::uint64_t seed);

/// `count` values from 1 down to `last`, each the same fraction of the previous one.
std::vector<double> geometric_values(std::int64_t count, double last);

/// A function that creates a matrix of any shape.
struct MatrixKind {
  std::string_view name;
  std::function<Matrix<double>(std::int64_t rows, std::int64_t cols, std::uint64_t seed)> make;
};

/// Kinds of matrices that have been difficult for some algorithm. All entries are within the range
/// of float32.
std::span<const MatrixKind> matrix_kinds();

/// a (m, n) times b (n, p), by definition.
Matrix<double> naive_product(MatrixView<const double> a, MatrixView<const double> b);

double frobenius_norm(MatrixView<const double> matrix);

/// Every element times 2^exponent.
Matrix<double> scaled_by_power_of_two(const Matrix<double>& matrix, int exponent);

/// The same matrix with another element type, rounded if necessary.
template <class To, class From>
Matrix<To> converted(const Matrix<From>& matrix) {
  Matrix<To> out(matrix.rows(), matrix.cols());
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      out(row, col) = static_cast<To>(matrix(row, col));
    }
  }
  return out;
}

}  // namespace attnscope::test
