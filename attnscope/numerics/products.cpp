#include "attnscope/numerics/products.h"

#include <algorithm>

#include "attnscope/numerics/lapack.h"

namespace attnscope {
namespace {

/// Rows of a product that are formed between two looks at the stop token: about 2^33 operations,
/// 0.1 to 0.2 s. BLAS packs the other factor anew for each, which is little beside that.
std::int64_t rows_at_once(std::int64_t cols, std::int64_t inner) {
  constexpr std::int64_t kOperations = std::int64_t{1} << 32, kLeast = 192;
  const std::int64_t rows = kOperations / std::max<std::int64_t>(1, cols * inner);
  return std::max(kLeast, rows / kLeast * kLeast);
}

}  // namespace

Matrix<double> multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                                   const Compute& compute) {
  Matrix<double> out(a.rows, b.rows);
  const std::int64_t step = rows_at_once(b.rows, a.cols);
  for (std::int64_t first = 0; first < a.rows; first += step) {
    compute.check_stop();
    const std::int64_t count = std::min(step, a.rows - first);
    lapack::multiply_transposed(a.row_block(first, count), b, out.view().row_block(first, count));
  }
  return out;
}

void add_products_of_rows(std::int64_t n, std::int64_t k, const double* rows, double* gram) {
  lapack::add_gram(n, k, rows, lapack::Packing::rows, gram);
}

Matrix<double> qr_r_factor(MatrixView<const double> matrix, const Compute& compute) {
  compute.check_stop();
  return lapack::qr_r_factor(matrix);
}

Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance,
                               const Compute& compute) {
  compute.check_stop();
  return lapack::row_space_basis(matrix, tolerance);
}

}  // namespace attnscope
