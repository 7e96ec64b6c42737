// Factorizations, by LAPACK: QR and Cholesky.
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/lapack/lapack_calls.h"

// LAPACK's Fortran interface as provided by OpenBLAS: 32-bit integers, hidden string lengths last.
extern "C" {
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info);
void dgeqp3_(const int* m, const int* n, double* a, const int* lda, int* jpvt, double* tau,
             double* work, const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau,
             double* work, const int* lwork, int* info);
void dormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
             const double* a, const int* lda, const double* tau, double* c, const int* ldc,
             double* work, const int* lwork, int* info, std::size_t, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* piv, int* rank,
             const double* tol, double* work, int* info, std::size_t);
}

namespace attnscope::lapack {
namespace {

/// Returns a column-major copy.
std::vector<double> column_major(MatrixView<const double> matrix) {
  std::vector<double> out(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out[static_cast<std::size_t>(col * matrix.rows + row)] = matrix(row, col);
    }
  }
  return out;
}

/// Number of columns factored per call, so that callers can stop a large factorization quickly.
constexpr std::int64_t kPanelColumns = 64;

/// Multiplies the column-major (rows, cols) matrix `c` by Qᵀ from the left. The reflectors of Q are
/// in the `count` columns of `a`. Both have the leading dimension `lda`.
void multiply_by_transposed_q(std::int64_t rows, std::int64_t cols, std::int64_t count,
                              const double* a, const std::vector<double>& tau, double* c,
                              std::int64_t lda) {
  const int m = to_int(rows), n = to_int(cols), k = to_int(count), ld = leading(lda), query = -1;
  double wanted = 0;
  int info = 0;
  dormqr_("L", "T", &m, &n, &k, a, &ld, tau.data(), c, &ld, &wanted, &query, &info, 1, 1);
  check_arguments("dormqr", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dormqr_("L", "T", &m, &n, &k, a, &ld, tau.data(), c, &ld, work.data(), &work_size, &info, 1, 1);
  check_arguments("dormqr", info);
}

/// Replaces the column-major (rows, cols) matrix by its R and the reflectors of Q, and returns tau.
/// `ld` is the leading dimension.
std::vector<double> factor_qr(std::int64_t rows, std::int64_t cols, double* a, std::int64_t ld) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(ld), query = -1;
  std::vector<double> tau(static_cast<std::size_t>(std::min(rows, cols)));
  double wanted = 0;
  int info = 0;
  dgeqrf_(&m, &n, a, &lda, tau.data(), &wanted, &query, &info);
  check_arguments("dgeqrf", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgeqrf_(&m, &n, a, &lda, tau.data(), work.data(), &work_size, &info);
  check_arguments("dgeqrf", info);
  return tau;
}

/// Does the same with column pivoting, so that the pivots decrease.
std::vector<double> factor_qr_pivoted(std::int64_t rows, std::int64_t cols, double* a) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), query = -1;
  std::vector<double> tau(static_cast<std::size_t>(std::min(rows, cols)));
  std::vector<int> order(static_cast<std::size_t>(cols), 0);  // 0: every column may move
  double wanted = 0;
  int info = 0;
  dgeqp3_(&m, &n, a, &lda, order.data(), tau.data(), &wanted, &query, &info);
  check_arguments("dgeqp3", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgeqp3_(&m, &n, a, &lda, order.data(), tau.data(), work.data(), &work_size, &info);
  check_arguments("dgeqp3", info);
  return tau;
}

/// Replaces the factorization in `a`, (rows, …) column-major, by the first `cols` columns of Q.
void form_q(std::int64_t rows, std::int64_t cols, double* a, const std::vector<double>& tau) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), query = -1;
  double wanted = 0;
  int info = 0;
  dorgqr_(&m, &n, &n, a, &lda, tau.data(), &wanted, &query, &info);
  check_arguments("dorgqr", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dorgqr_(&m, &n, &n, a, &lda, tau.data(), work.data(), &work_size, &info);
  check_arguments("dorgqr", info);
}

}  // namespace

Matrix<double> qr_r_factor(MatrixView<const double> matrix, const std::function<void()>& between) {
  std::vector<double> a = column_major(matrix);
  const std::int64_t rows = matrix.rows, cols = matrix.cols;
  for (std::int64_t at = 0; at < std::min(rows, cols); at += kPanelColumns) {
    between();
    const std::int64_t count = std::min(kPanelColumns, cols - at), next = at + count;
    double* panel = a.data() + at * rows + at;
    const std::vector<double> tau = factor_qr(rows - at, count, panel, rows);
    if (next == cols) break;
    multiply_by_transposed_q(rows - at, cols - next, std::ssize(tau), panel, tau,
                             a.data() + next * rows + at, rows);
  }
  const std::int64_t rank = std::min(matrix.rows, matrix.cols);

  Matrix<double> r(rank, matrix.cols);
  for (std::int64_t row = 0; row < rank; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      r(row, col) = col < row ? 0 : a[static_cast<std::size_t>(col * matrix.rows + row)];
    }
  }
  return r;
}

Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance) {
  // The columns of Q in matrixᵀ = Q R span the row space. Q (cols, k) column-major is (k, cols)
  // row-major.
  const std::int64_t k = std::min(matrix.rows, matrix.cols);
  std::vector<double> q = column_major(matrix.transposed());
  const std::vector<double> tau = factor_qr(matrix.cols, matrix.rows, q.data(), matrix.cols);
  std::vector<double> r(static_cast<std::size_t>(k * matrix.rows), 0.0);
  for (std::int64_t col = 0; col < matrix.rows; ++col) {
    for (std::int64_t row = 0; row <= std::min(col, k - 1); ++row) {
      r[static_cast<std::size_t>(col * k + row)] =
          q[static_cast<std::size_t>(col * matrix.cols + row)];
    }
  }
  // R with permuted columns = inner * (triangle with decreasing pivots). The first columns of Q ·
  // inner, one per significant pivot, span the same space.
  const std::vector<double> inner_tau = factor_qr_pivoted(k, matrix.rows, r.data());
  std::int64_t rank = 0;
  while (rank < k &&
         std::abs(r[static_cast<std::size_t>(rank * k + rank)]) > tolerance * std::abs(r[0])) {
    ++rank;
  }
  Matrix<double> basis(rank, matrix.cols);
  if (rank == 0) return basis;
  form_q(matrix.cols, k, q.data(), tau);
  if (rank == k) {
    std::copy_n(q.data(), k * matrix.cols, basis.data());
    return basis;
  }
  form_q(k, rank, r.data(), inner_tau);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_int(rank), to_int(matrix.cols),
              to_int(k), 1.0, r.data(), to_int(k), q.data(), to_int(matrix.cols), 0.0, basis.data(),
              to_int(matrix.cols));
  throw_if_refused();
  return basis;
}

bool cholesky(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n);
  int info = 0;
  dpotrf_("L", &order, matrix, &lda, &info, 1);
  check_arguments("dpotrf", info);
  return info == 0;
}

PivotedCholesky pivoted_cholesky(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n);
  std::vector<int> pivots(static_cast<std::size_t>(n));
  std::vector<double> work(static_cast<std::size_t>(2 * n));
  const double usual = -1;  // default: n * 2^-53 * the largest diagonal element
  int rank = 0, info = 0;
  dpstrf_("L", &order, matrix, &lda, pivots.data(), &rank, &usual, work.data(), &info, 1);
  check_arguments("dpstrf", info);  // info 1 means that the rank is not full
  PivotedCholesky out{.l = Matrix<double>(n, rank)};
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int64_t original = pivots[static_cast<std::size_t>(row)] - 1;
    for (std::int64_t col = 0; col < rank; ++col) {
      out.l(original, col) = col > row ? 0 : matrix[col * n + row];
    }
  }
  if (rank > 0) {
    const std::int64_t last = rank - 1;
    const double ratio = matrix[last * n + last] / matrix[0];
    out.last_pivot = ratio * ratio;
  }
  return out;
}

}  // namespace attnscope::lapack
