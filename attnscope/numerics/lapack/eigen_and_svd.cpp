// Eigenvalues and singular values, by LAPACK.
#include <algorithm>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/lapack/lapack_calls.h"

// LAPACK's Fortran interface as provided by OpenBLAS: 32-bit integers, hidden string lengths last.
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
void dgeev_(const char* jobvl, const char* jobvr, const int* n, double* a, const int* lda,
            double* wr, double* wi, double* vl, const int* ldvl, double* vr, const int* ldvr,
            double* work, const int* lwork, int* info, std::size_t, std::size_t);
}

namespace attnscope::lapack {
namespace {

/// From this order on, the two-stage reduction is faster (measured on Zen 4 and Zen 5).
constexpr std::int64_t kTwoStageFrom = 1500;

}  // namespace

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

std::optional<SingularTriples> singular_triples(std::int64_t rows, std::int64_t cols,
                                                double* matrix) {
  const std::int64_t rank = std::min(rows, cols);
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const int m = to_int(rows), n = to_int(cols), lda = leading(rows), ldv = leading(rank);
  const int query = -1;
  SingularTriples out{.values = std::vector<double>(size(rank)),
                      .u = std::vector<double>(size(rows * rank)),
                      .vt = std::vector<double>(size(rank * cols))};
  if (rank == 0) return out;
  std::vector<int> int_work(8 * size(rank));
  double wanted = 0;
  int info = 0;
  dgesdd_("S", &m, &n, matrix, &lda, out.values.data(), out.u.data(), &lda, out.vt.data(), &ldv,
          &wanted, &query, int_work.data(), &info, 1);
  check_arguments("dgesdd", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  dgesdd_("S", &m, &n, matrix, &lda, out.values.data(), out.u.data(), &lda, out.vt.data(), &ldv,
          work.data(), &work_size, int_work.data(), &info, 1);
  check_arguments("dgesdd", info);
  if (info > 0) return std::nullopt;
  return out;
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

}  // namespace attnscope::lapack

// Eigenvectors, by LAPACK.

// LAPACK's Fortran interface as provided by OpenBLAS: 32-bit integers, hidden string lengths last.
extern "C" {
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info, std::size_t,
             std::size_t);
void zheevd_(const char* jobz, const char* uplo, const int* n, std::complex<double>* a,
             const int* lda, double* w, std::complex<double>* work, const int* lwork, double* rwork,
             const int* lrwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
}

namespace attnscope::lapack {

std::optional<std::vector<double>> symmetric_eigenvectors(std::int64_t n, double* matrix) {
  const int order = to_int(n), lda = leading(n), query = -1;
  std::vector<double> values(static_cast<std::size_t>(n));
  double wanted = 0;
  int wanted_int = 0, info = 0;
  dsyevd_("V", "L", &order, matrix, &lda, values.data(), &wanted, &query, &wanted_int, &query,
          &info, 1, 1);
  check_arguments("dsyevd", info);
  std::vector<double> work = workspace(wanted);
  const int work_size = to_int(static_cast<std::int64_t>(work.size()));
  std::vector<int> int_work(static_cast<std::size_t>(std::max(wanted_int, 1)));
  const int int_work_size = to_int(static_cast<std::int64_t>(int_work.size()));
  dsyevd_("V", "L", &order, matrix, &lda, values.data(), work.data(), &work_size, int_work.data(),
          &int_work_size, &info, 1, 1);
  check_arguments("dsyevd", info);
  if (info > 0) return std::nullopt;
  return values;
}

std::optional<std::vector<double>> hermitian_eigenvectors(std::int64_t n,
                                                          std::complex<double>* matrix) {
  const int order = to_int(n), lda = leading(n), query = -1;
  std::vector<double> values(static_cast<std::size_t>(n));
  std::complex<double> wanted = 0;
  double wanted_real = 0;
  int wanted_int = 0, info = 0;
  zheevd_("V", "L", &order, matrix, &lda, values.data(), &wanted, &query, &wanted_real, &query,
          &wanted_int, &query, &info, 1, 1);
  check_arguments("zheevd", info);
  std::vector<std::complex<double>> work(workspace(wanted.real()).size());
  std::vector<double> real_work = workspace(wanted_real);
  std::vector<int> int_work(static_cast<std::size_t>(std::max(wanted_int, 1)));
  const int work_size = to_int(std::ssize(work)), real_size = to_int(std::ssize(real_work)),
            int_size = to_int(std::ssize(int_work));
  zheevd_("V", "L", &order, matrix, &lda, values.data(), work.data(), &work_size, real_work.data(),
          &real_size, int_work.data(), &int_size, &info, 1, 1);
  check_arguments("zheevd", info);
  if (info > 0) return std::nullopt;
  return values;
}

}  // namespace attnscope::lapack
