#include "attnscope/smaller/truncation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/numerics/factors/vectors.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {

Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b,
                       const Compute& compute) {
  return multiply_transposed(a, b.transposed(), compute);
}

OutputDirections output_directions(MatrixView<const double> weight,
                                   MatrixView<const double> moments, const Compute& compute) {
  const auto clear_negative = [](std::vector<double>& values) {
    for (double& value : values) value = std::max(value, 0.0);
  };
  if (weight.rows <= weight.cols) {
    const Matrix<double> read = product(weight, moments, compute);
    Eigenvectors own = eigenvectors(multiply_transposed(read.view(), weight, compute).view());
    clear_negative(own.values);
    return {std::move(own.values), std::move(own.vectors)};
  }
  const Matrix<double> root = symmetric_root(moments).root;
  const Matrix<double> read = product(weight, root.view(), compute);  // (m, n)
  Directions own = directions_of(read.view(), compute);
  return {std::move(own.squares), std::move(own.left)};
}

Matrix<double> truncated(MatrixView<const double> weight, const OutputDirections& directions,
                         std::int64_t rank, const Compute& compute) {
  const auto basis = directions.basis.view().row_block(0, rank);
  const Matrix<double> latent = product(basis, weight, compute);
  return product(basis.transposed(), latent.view(), compute);
}

Matrix<double> with_ridge(Matrix<double> moments, double share) {
  const std::int64_t n = moments.rows();
  double trace = 0;
  for (std::int64_t at = 0; at < n; ++at) trace += moments(at, at);
  const double added = share * trace / static_cast<double>(std::max<std::int64_t>(1, n));
  for (std::int64_t at = 0; at < n; ++at) moments(at, at) += added;
  return moments;
}

Matrix<double> solve_ridged(MatrixView<const double> a, double share,
                            MatrixView<const double> right) {
  for (;; share *= 10) {
    Matrix<double> copy(a.rows, a.cols);
    for (std::int64_t row = 0; row < a.rows; ++row) {
      for (std::int64_t col = 0; col < a.cols; ++col) copy(row, col) = a(row, col);
    }
    try {
      return solve_positive(with_ridge(std::move(copy), share).view(), right);
    } catch (const Error&) {
      if (share > 1) throw;
    }
  }
}

double output_energy(MatrixView<const double> weight, MatrixView<const double> moments,
                     const Compute& compute) {
  const Matrix<double> read = product(weight, moments, compute);
  double sum = 0;
  for (std::int64_t row = 0; row < weight.rows; ++row) {
    for (std::int64_t col = 0; col < weight.cols; ++col) sum += read(row, col) * weight(row, col);
  }
  return sum;
}

Matrix<double> rows_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept) {
  Matrix<double> out(std::ssize(kept), matrix.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const std::int64_t from = kept[static_cast<std::size_t>(row)];
    for (std::int64_t col = 0; col < out.cols(); ++col) out(row, col) = matrix(from, col);
  }
  return out;
}

Matrix<double> columns_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept) {
  Matrix<double> out(matrix.rows, std::ssize(kept));
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      out(row, col) = matrix(row, kept[static_cast<std::size_t>(col)]);
    }
  }
  return out;
}

Matrix<double> refitted(MatrixView<const double> weight, MatrixView<const double> moments,
                        const std::vector<std::int64_t>& kept, const Compute& compute) {
  const Matrix<double> to_kept = columns_of(moments, kept);
  const Matrix<double> right = product(weight, to_kept.view(), compute);
  constexpr double kRidge = 1e-8;
  const Matrix<double> among = rows_of(to_kept.view(), kept);
  return solve_ridged(among.view(), kRidge, right.view());
}

}  // namespace attnscope
