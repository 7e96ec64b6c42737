#include "attnscope/numerics/svd/eigenvectors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

template <class T>
std::vector<T> column_major_lower(MatrixView<const T> matrix) {
  std::vector<T> out(static_cast<std::size_t>(matrix.rows * matrix.rows));
  for (std::int64_t col = 0; col < matrix.rows; ++col) {
    for (std::int64_t row = col; row < matrix.rows; ++row) {
      out[static_cast<std::size_t>(col * matrix.rows + row)] = matrix(row, col);
    }
  }
  return out;
}

[[noreturn]] void refuse_vectors(std::int64_t n) {
  throw Error(ErrorKind::numerical, "eigenvectors",
              "LAPACK did not converge for a matrix of order " + std::to_string(n));
}

/// Returns the unit factor that makes the vector's first significant element positive.
template <class T>
T unit_of(const T* vector, std::int64_t n) {
  double largest = 0;
  for (std::int64_t at = 0; at < n; ++at) largest = std::max(largest, std::abs(vector[at]));
  for (std::int64_t at = 0; at < n; ++at) {
    const double size = std::abs(vector[at]);
    if (size > largest / 8) return T(size) / vector[at];
  }
  return T(1);
}

/// Returns LAPACK's vectors, which are ascending, in descending order.
template <class T>
Matrix<T> descending(const std::vector<T>& ascending, std::int64_t n) {
  Matrix<T> out(n, n);
  for (std::int64_t row = 0; row < n; ++row) {
    const T* from = ascending.data() + (n - 1 - row) * n;
    const T unit = unit_of(from, n);
    for (std::int64_t col = 0; col < n; ++col) out(row, col) = from[col] * unit;
  }
  return out;
}

}  // namespace

Eigenvectors eigenvectors(MatrixView<const double> symmetric) {
  const std::int64_t n = symmetric.rows;
  std::vector<double> matrix = column_major_lower(symmetric);
  auto values = lapack::symmetric_eigenvectors(n, matrix.data());
  if (!values) refuse_vectors(n);
  std::reverse(values->begin(), values->end());
  return {*std::move(values), descending(matrix, n)};
}

ComplexEigenvectors eigenvectors(MatrixView<const std::complex<double>> hermitian) {
  const std::int64_t n = hermitian.rows;
  std::vector<std::complex<double>> matrix = column_major_lower(hermitian);
  auto values = lapack::hermitian_eigenvectors(n, matrix.data());
  if (!values) refuse_vectors(n);
  std::reverse(values->begin(), values->end());
  return {*std::move(values), descending(matrix, n)};
}

Directions directions_of(MatrixView<const double> matrix, const Compute& compute) {
  const bool wide = matrix.rows <= matrix.cols;
  const MatrixView<const double> thin = wide ? matrix : matrix.transposed();
  Eigenvectors own = eigenvectors(multiply_transposed(thin, thin, compute).view());
  Matrix<double> other = multiply_transposed(own.vectors.view(), thin.transposed(), compute);
  for (std::int64_t row = 0; row < other.rows(); ++row) {
    double& square = own.values[static_cast<std::size_t>(row)];
    square = std::max(square, 0.0);
    double norm = 0;
    for (std::int64_t col = 0; col < other.cols(); ++col) norm += other(row, col) * other(row, col);
    const double factor = norm > 0 ? 1 / std::sqrt(norm) : 0;
    for (std::int64_t col = 0; col < other.cols(); ++col) other(row, col) *= factor;
  }
  Matrix<double>&left = wide ? own.vectors : other, &right = wide ? other : own.vectors;
  return {std::move(own.values), std::move(left), std::move(right)};
}

SymmetricRoot symmetric_root(MatrixView<const double> matrix, double least,
                             const Compute& compute) {
  const Eigenvectors own = eigenvectors(matrix);
  const std::int64_t n = matrix.rows;
  const double largest = n == 0 ? 0 : std::max(own.values.front(), 0.0);
  const auto with_powers = [&](double power) {
    Matrix<double> scaled(n, n);
    for (std::int64_t row = 0; row < n; ++row) {
      const double value = std::max(own.values[static_cast<std::size_t>(row)], least * largest);
      const double factor = value > 0 ? std::pow(value, power) : 0;
      for (std::int64_t col = 0; col < n; ++col) scaled(row, col) = factor * own.vectors(row, col);
    }
    return multiply_transposed(scaled.view().transposed(), own.vectors.view().transposed(),
                               compute);
  };
  return {with_powers(0.5), with_powers(-0.5)};
}

bool solve_positive(Matrix<double>& a, Matrix<double>& right) {
  const std::int64_t n = a.rows();
  // The upper triangle in row-major order is the lower triangle in column-major order.
  if (!lapack::cholesky(n, a.data())) return false;
  lapack::divide_by_cholesky(right.rows(), n, right.data(), a.data());
  lapack::divide_by_cholesky_transposed(right.rows(), n, right.data(), a.data());
  return true;
}

}  // namespace attnscope
