#include "attnscope/numerics/lapack.h"

#include <cblas.h>
#include <openblas_config.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/numerics/libraries.h"

// LAPACK's Fortran interface, which OpenBLAS carries; 32-bit integers, hidden string lengths last.
extern "C" {
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info, std::size_t,
             std::size_t);
void dsyevd_2stage_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
                    double* w, double* work, const int* lwork, int* iwork, const int* liwork,
                    int* info, std::size_t, std::size_t);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork,
             int* iwork, int* info, std::size_t);
void dgesvd_(const char* jobu, const char* jobvt, const int* m, const int* n, double* a,
             const int* lda, double* s, double* u, const int* ldu, double* vt, const int* ldvt,
             double* work, const int* lwork, int* info, std::size_t, std::size_t);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info);
void dgeqp3_(const int* m, const int* n, double* a, const int* lda, int* jpvt, double* tau,
             double* work, const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau,
             double* work, const int* lwork, int* info);
void dgeev_(const char* jobvl, const char* jobvr, const int* n, double* a, const int* lda,
            double* wr, double* wi, double* vl, const int* ldvl, double* vr, const int* ldvr,
            double* work, const int* lwork, int* info, std::size_t, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* piv, int* rank,
             const double* tol, double* work, int* info, std::size_t);
}

namespace attnscope::lapack {
namespace {

/// The first argument that a routine refused on this thread. BLAS and LAPACK say it by calling
/// xerbla_, through frames of C and Fortran that no exception may cross.
struct Refusal {
  std::string routine;
  int argument = 0;  // 0: none
};
thread_local Refusal refusal;

/// Above this order the two-stage reduction wins (measured on Zen 4 and Zen 5).
constexpr std::int64_t kTwoStageFrom = 1500;

[[maybe_unused]] const bool single_threaded = [] {
  openblas_set_num_threads(1);
  return true;
}();

int to_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::unsupported, "matrix", "has a side over 2147483647");
  }
  return static_cast<int>(size);
}

/// A leading dimension: at least 1, also of a matrix without elements.
int leading(std::int64_t size) { return std::max(1, to_int(size)); }

/// info < 0: argument number -info was illegal, a defect of the caller.
void check_arguments(const char* routine, int info) {
  throw_if_refused();
  if (info < 0) {
    throw Error(ErrorKind::numerical, routine,
                "refused argument " + std::to_string(-info) + " (a defect of attnscope)");
  }
}

std::vector<double> workspace(double wanted) {
  return std::vector<double>(static_cast<std::size_t>(std::max(wanted, 1.0)));
}

/// Column-major copy.
std::vector<double> column_major(MatrixView<const double> matrix) {
  std::vector<double> out(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out[static_cast<std::size_t>(col * matrix.rows + row)] = matrix(row, col);
    }
  }
  return out;
}

/// Replaces the column-major (rows, cols) matrix by its R and the reflectors of Q; returns tau.
std::vector<double> factor_qr(std::int64_t rows, std::int64_t cols, double* a) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), query = -1;
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

/// The same with columns exchanged so that the pivots fall.
std::vector<double> factor_qr_pivoted(std::int64_t rows, std::int64_t cols, double* a) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), query = -1;
  std::vector<double> tau(static_cast<std::size_t>(std::min(rows, cols)));
  std::vector<int> order(static_cast<std::size_t>(cols), 0);  // every column may move
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

/// Replaces what a factorisation left in `a`, (rows, …) column-major, by the first `cols` columns
/// of Q.
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

/// A matrix as BLAS takes it: row-major with its rows `leading` elements apart, or the transpose of
/// one.
struct Operand {
  const double* data = nullptr;
  bool transposed = false;
  int leading = 1;
  std::vector<double> copy = {};  // of a view that is neither
};

/// Rows that lie together and do not overlap. Of a matrix with one row or column, one of the
/// strides says nothing.
bool is_row_major(MatrixView<const double> matrix) {
  return (matrix.col_stride == 1 || matrix.cols <= 1) &&
         (matrix.row_stride >= std::max<std::int64_t>(1, matrix.cols) || matrix.rows <= 1);
}

Operand operand_of(MatrixView<const double> matrix) {
  const auto step = [](MatrixView<const double> view) {
    return leading(view.rows <= 1 ? view.cols : view.row_stride);
  };
  if (is_row_major(matrix)) return {matrix.data, false, step(matrix)};
  const MatrixView<const double> turned = matrix.transposed();
  if (is_row_major(turned)) return {matrix.data, true, step(turned)};
  Operand out{.leading = leading(matrix.cols)};
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) out.copy.push_back(matrix(row, col));
  }
  out.data = out.copy.data();
  return out;
}

}  // namespace

/// Says that `argument` of `routine` is illegal; stands in for the function of that name in BLAS
/// and LAPACK, which prints on stdout. Its length is an int or a size_t, whoever calls.
extern "C" void xerbla_(const char* routine, const int* argument, int length) {
  if (refusal.argument != 0) return;
  const std::string_view name(routine, static_cast<std::size_t>(std::clamp(length, 0, 32)));
  refusal = {std::string(name.substr(0, name.find_first_of(std::string_view(" \0", 2)))),
             *argument};
}

void throw_if_refused() {
  if (refusal.argument == 0) return;
  const Refusal said = std::exchange(refusal, {});
  throw Error(ErrorKind::numerical, said.routine,
              "refused argument " + std::to_string(said.argument) + " (a defect of attnscope)");
}

void add_gram(std::int64_t n, std::int64_t k, const double* block, Packing packing, double* gram) {
  const bool rows = packing == Packing::rows;
  cblas_dsyrk(CblasColMajor, CblasLower, rows ? CblasTrans : CblasNoTrans, to_int(n), to_int(k),
              1.0, block, leading(rows ? k : n), 1.0, gram, leading(n));
  throw_if_refused();
}

std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* matrix) {
  const bool two_stage = n >= kTwoStageFrom;
  const auto solve = two_stage ? dsyevd_2stage_ : dsyevd_;
  const char* routine = two_stage ? "dsyevd_2stage" : "dsyevd";
  const int order = to_int(n), lda = leading(n);
  std::vector<double> values(static_cast<std::size_t>(n));
  int info = 0;

  const int query = -1;
  double wanted = 0;
  int wanted_int = 0;
  solve("N", "L", &order, matrix, &lda, values.data(), &wanted, &query, &wanted_int, &query, &info,
        1, 1);
  check_arguments(routine, info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  std::vector<int> int_work(static_cast<std::size_t>(std::max(wanted_int, 1)));
  const int int_work_size = to_int(static_cast<std::int64_t>(int_work.size()));
  solve("N", "L", &order, matrix, &lda, values.data(), work.data(), &work_size, int_work.data(),
        &int_work_size, &info, 1, 1);
  check_arguments(routine, info);
  if (info > 0) return std::nullopt;
  return values;
}

std::optional<std::vector<double>> singular_values_divide_and_conquer(std::int64_t rows,
                                                                      std::int64_t cols,
                                                                      double* matrix) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), one = 1, query = -1;
  std::vector<double> values(static_cast<std::size_t>(std::min(rows, cols)));
  std::vector<int> int_work(8 * values.size());
  double wanted = 0;
  int info = 0;
  dgesdd_("N", &m, &n, matrix, &lda, values.data(), nullptr, &one, nullptr, &one, &wanted, &query,
          int_work.data(), &info, 1);
  check_arguments("dgesdd", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgesdd_("N", &m, &n, matrix, &lda, values.data(), nullptr, &one, nullptr, &one, work.data(),
          &work_size, int_work.data(), &info, 1);
  check_arguments("dgesdd", info);
  if (info > 0) return std::nullopt;
  return values;
}

std::optional<std::vector<double>> singular_values_qr_iteration(std::int64_t rows,
                                                                std::int64_t cols, double* matrix) {
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), one = 1, query = -1;
  std::vector<double> values(static_cast<std::size_t>(std::min(rows, cols)));
  double wanted = 0;
  int info = 0;
  dgesvd_("N", "N", &m, &n, matrix, &lda, values.data(), nullptr, &one, nullptr, &one, &wanted,
          &query, &info, 1, 1);
  check_arguments("dgesvd", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgesvd_("N", "N", &m, &n, matrix, &lda, values.data(), nullptr, &one, nullptr, &one, work.data(),
          &work_size, &info, 1, 1);
  check_arguments("dgesvd", info);
  if (info > 0) return std::nullopt;
  return values;
}

Matrix<double> qr_r_factor(MatrixView<const double> matrix) {
  std::vector<double> a = column_major(matrix);
  factor_qr(matrix.rows, matrix.cols, a.data());
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
  // matrixᵀ = Q R, whose columns span it; Q (cols, k) column-major is (k, cols) row-major.
  const std::int64_t k = std::min(matrix.rows, matrix.cols);
  std::vector<double> q = column_major(matrix.transposed());
  const std::vector<double> tau = factor_qr(matrix.cols, matrix.rows, q.data());
  std::vector<double> r(static_cast<std::size_t>(k * matrix.rows), 0.0);
  for (std::int64_t col = 0; col < matrix.rows; ++col) {
    for (std::int64_t row = 0; row <= std::min(col, k - 1); ++row) {
      r[static_cast<std::size_t>(col * k + row)] =
          q[static_cast<std::size_t>(col * matrix.cols + row)];
    }
  }
  // R with its columns reordered = inner * (triangle of falling pivots): the first columns of
  // Q inner, as many as there are pivots worth counting, span the same space.
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

std::optional<std::vector<std::complex<double>>> eigenvalues(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n), one = 1, query = -1;
  std::vector<double> real(static_cast<std::size_t>(n)), imaginary(static_cast<std::size_t>(n));
  double wanted = 0;
  int info = 0;
  dgeev_("N", "N", &order, matrix, &lda, real.data(), imaginary.data(), nullptr, &one, nullptr,
         &one, &wanted, &query, &info, 1, 1);
  check_arguments("dgeev", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgeev_("N", "N", &order, matrix, &lda, real.data(), imaginary.data(), nullptr, &one, nullptr,
         &one, work.data(), &work_size, &info, 1, 1);
  check_arguments("dgeev", info);
  if (info > 0) return std::nullopt;
  std::vector<std::complex<double>> values;
  for (std::size_t index = 0; index < real.size(); ++index) {
    values.emplace_back(real[index], imaginary[index]);
  }
  return values;
}

bool cholesky(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n);
  int info = 0;
  dpotrf_("L", &order, matrix, &lda, &info, 1);
  check_arguments("dpotrf", info);
  return info == 0;
}

void multiply_by_cholesky(std::int64_t n, double* matrix, const double* l) {
  // dsygst does it in place and with half the arithmetic, but by columns: slower at any order.
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

PivotedCholesky pivoted_cholesky(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n);
  std::vector<int> pivots(static_cast<std::size_t>(n));
  std::vector<double> work(static_cast<std::size_t>(2 * n));
  const double usual = -1;  // n * 2^-53 * the largest diagonal element
  int rank = 0, info = 0;
  dpstrf_("L", &order, matrix, &lda, pivots.data(), &rank, &usual, work.data(), &info, 1);
  check_arguments("dpstrf", info);  // info 1 says that the rank is not full
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

void multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                         MatrixView<double> out) {
  const Operand left = operand_of(a), right = operand_of(b);
  cblas_dgemm(CblasRowMajor, left.transposed ? CblasTrans : CblasNoTrans,
              right.transposed ? CblasNoTrans : CblasTrans, to_int(a.rows), to_int(b.rows),
              to_int(a.cols), 1.0, left.data, left.leading, right.data, right.leading, 0.0,
              out.data, leading(out.row_stride));
  throw_if_refused();
}

}  // namespace attnscope::lapack

namespace attnscope {

std::string blas_description() {
  return std::string(openblas_get_config()) + ", kernels " + openblas_get_corename();
}

}  // namespace attnscope
