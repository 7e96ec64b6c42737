#include "attnscope/numerics/products/scaled_gram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

bool same_view(MatrixView<const double> a, MatrixView<const double> b) {
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride;
}

}  // namespace

void ScaledGram::become(MatrixView<const double> matrix) {
  if (same_view(of_, matrix)) return;
  of_ = matrix;
  if (cut_from_whole(matrix)) return;
  gram = {};
  exponent = 0;
  const double largest = largest_magnitude(matrix, compute_);
  if (largest == 0 || matrix.rows > matrix.cols) return;
  exponent = scale_exponent(largest);
  gram = factor_gram(gram_lower(matrix, std::ldexp(1.0, -exponent), compute_), matrix.rows,
                     with_cholesky_, compute_);
  if (matrix.rows <= whole_.rows) return;
  whole_ = matrix;
  whole_exponent_ = exponent;
  whole_lower_ = gram.lower;
}

bool ScaledGram::cut_from_whole(MatrixView<const double> matrix) {
  // Where a head is so small beside the others that its squares might vanish, it is scaled alone.
  constexpr double kLeastSquare = 1e-100;
  if (whole_.row_stride <= 0 || matrix.rows >= whole_.rows) return false;
  const std::int64_t offset = matrix.data - whole_.data, first = offset / whole_.row_stride;
  const bool inside = offset >= 0 && first + matrix.rows <= whole_.rows &&
                      same_view(whole_.row_block(first, matrix.rows), matrix);
  if (!inside) return false;
  std::vector<double> lower(static_cast<std::size_t>(matrix.rows * matrix.rows), 0.0);
  double largest = 0;
  for (std::int64_t col = 0; col < matrix.rows; ++col) {
    const auto from = whole_lower_.begin() + (first + col) * whole_.rows + first;
    std::copy(from + col, from + matrix.rows, lower.begin() + col * matrix.rows + col);
    largest = std::max(largest, from[col]);
  }
  if (largest < kLeastSquare) return false;
  exponent = whole_exponent_;
  gram = factor_gram(std::move(lower), matrix.rows, with_cholesky_, compute_);
  return true;
}

}  // namespace attnscope
