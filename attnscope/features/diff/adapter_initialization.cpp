#include "attnscope/features/diff/adapter_initialization.h"

#include <cmath>

#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {
namespace {

void subtract_product(Matrix<double>& weight, MatrixView<const double> left,
                      MatrixView<const double> right_transposed, double scale,
                      const Compute& compute) {
  const Matrix<double> product = multiply_transposed(left, right_transposed, compute);
  for (std::int64_t at = 0; at < weight.rows() * weight.cols(); ++at) {
    weight.data()[at] -= scale * product.data()[at];
  }
}

}  // namespace

void take_principal_part(Matrix<double>& weight, std::int64_t rank, const Compute& compute) {
  const Directions own = directions_of(weight.view(), compute);
  // The projection onto the singular vectors of the shorter side, which are orthonormal.
  if (weight.rows() <= weight.cols()) {
    const auto kept = own.left.view().row_block(0, rank);
    const Matrix<double> other =
        multiply_transposed(MatrixView<const double>(weight.view()).transposed(), kept, compute);
    subtract_product(weight, kept.transposed(), other.view(), 1, compute);
  } else {
    const auto kept = own.right.view().row_block(0, rank);
    const Matrix<double> other = multiply_transposed(weight.view(), kept, compute);
    subtract_product(weight, other.view(), kept.transposed(), 1, compute);
  }
}

bool take_orthonormal_part(Matrix<double>& weight, std::int64_t rank, double scale) {
  const std::int64_t rows = weight.rows(), cols = weight.cols();
  Matrix<double> columns(rank, rows);  // row i is the i-th column of Q
  const auto dot = [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t at = 0; at < rows; ++at) sum += columns(i, at) * columns(j, at);
    return sum;
  };
  for (std::int64_t i = 0; i < rank; ++i) {
    for (std::int64_t at = 0; at < rows; ++at) columns(i, at) = weight(at, i);
    const double before = std::sqrt(dot(i, i));
    for (int pass = 0; pass < 2; ++pass) {  // the second pass removes rounding errors of the first
      for (std::int64_t j = 0; j < i; ++j) {
        const double share = dot(i, j);
        for (std::int64_t at = 0; at < rows; ++at) columns(i, at) -= share * columns(j, at);
      }
    }
    const double length = std::sqrt(dot(i, i));
    constexpr double kDependent = 1e-6;  // linearly dependent in float32, in which PEFT decomposes
    if (!(length > kDependent * before)) return false;
    for (std::int64_t at = 0; at < rows; ++at) columns(i, at) /= length;
  }
  Matrix<double> right(cols, rank);
  for (std::int64_t col = 0; col < cols; ++col) {
    for (std::int64_t i = 0; i < rank; ++i) {
      double sum = 0;
      for (std::int64_t at = 0; at < rows; ++at) sum += columns(i, at) * weight(at, col);
      right(col, i) = sum;
    }
  }
  subtract_product(weight, MatrixView<const double>(columns.view()).transposed(), right.view(),
                   scale, {});
  return true;
}

}  // namespace attnscope
