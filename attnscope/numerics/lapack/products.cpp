// Products of matrices, by BLAS.
#include <cblas.h>

#include <algorithm>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/lapack/lapack_calls.h"

namespace attnscope::lapack {
namespace {

/// A matrix in BLAS layout: row-major with rows `leading` elements apart, or the transpose of such
/// a matrix.
template <class T>
struct Operand {
  const T* data = nullptr;
  bool transposed = false;
  int leading = 1;
  std::vector<T> copy = {};  // used for other views
};

/// Returns whether rows are contiguous and do not overlap. For a matrix with one row or column, one
/// of the strides is irrelevant.
template <class T>
bool is_row_major(MatrixView<const T> matrix) {
  return (matrix.col_stride == 1 || matrix.cols <= 1) &&
         (matrix.row_stride >= std::max<std::int64_t>(1, matrix.cols) || matrix.rows <= 1);
}

template <class T>
Operand<T> operand_of(MatrixView<const T> matrix) {
  const auto step = [](MatrixView<const T> view) {
    return leading(view.rows <= 1 ? view.cols : view.row_stride);
  };
  if (is_row_major(matrix)) return {matrix.data, false, step(matrix)};
  const MatrixView<const T> transposed = matrix.transposed();
  if (is_row_major(transposed)) return {matrix.data, true, step(transposed)};
  Operand<T> out{.leading = leading(matrix.cols)};
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) out.copy.push_back(matrix(row, col));
  }
  out.data = out.copy.data();
  return out;
}

}  // namespace

void add_gram(std::int64_t n, std::int64_t k, const double* block, Packing packing, double* gram) {
  const bool rows = packing == Packing::rows;
  cblas_dsyrk(CblasColMajor, CblasLower, rows ? CblasTrans : CblasNoTrans, to_int(n), to_int(k),
              1.0, block, leading(rows ? k : n), 1.0, gram, leading(n));
  throw_if_refused();
}

void divide_by_cholesky(std::int64_t rows, std::int64_t n, double* matrix, const double* l) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n),
              to_int(rows), 1.0, l, leading(n), matrix, leading(n));
  throw_if_refused();
}

void divide_by_cholesky_transposed(std::int64_t rows, std::int64_t n, double* matrix,
                                   const double* l) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, to_int(n),
              to_int(rows), 1.0, l, leading(n), matrix, leading(n));
  throw_if_refused();
}

void multiply_by_cholesky(std::int64_t n, double* matrix, const double* l) {
  // dsygst works in place with half the arithmetic, but column by column, and is slower at any
  // order.
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col + 1; row < n; ++row) matrix[row * n + col] = matrix[col * n + row];
  }
  const int order = to_int(n), lda = leading(n);
  cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, order, order, 1.0,
              l, lda, matrix, lda);
  cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, order, order, 1.0, l,
              lda, matrix, lda);
  throw_if_refused();
}

void multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                         MatrixView<double> out) {
  const Operand<double> left = operand_of(a), right = operand_of(b);
  cblas_dgemm(CblasRowMajor, left.transposed ? CblasTrans : CblasNoTrans,
              right.transposed ? CblasNoTrans : CblasTrans, to_int(a.rows), to_int(b.rows),
              to_int(a.cols), 1.0, left.data, left.leading, right.data, right.leading, 0.0,
              out.data, leading(out.row_stride));
  throw_if_refused();
}

void multiply_transposed(MatrixView<const float> a, MatrixView<const float> b,
                         MatrixView<float> out) {
  const Operand<float> left = operand_of(a), right = operand_of(b);
  cblas_sgemm(CblasRowMajor, left.transposed ? CblasTrans : CblasNoTrans,
              right.transposed ? CblasNoTrans : CblasTrans, to_int(a.rows), to_int(b.rows),
              to_int(a.cols), 1.0F, left.data, left.leading, right.data, right.leading, 0.0F,
              out.data, leading(out.row_stride));
  throw_if_refused();
}

}  // namespace attnscope::lapack
