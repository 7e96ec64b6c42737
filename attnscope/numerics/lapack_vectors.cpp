// Eigenvectors, by LAPACK.
#include <algorithm>

#include "attnscope/numerics/lapack.h"
#include "attnscope/numerics/lapack_calls.h"

// LAPACK's Fortran interface, which OpenBLAS carries; 32-bit integers, hidden string lengths last.
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
