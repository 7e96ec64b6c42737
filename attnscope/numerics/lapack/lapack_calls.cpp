#include "attnscope/numerics/lapack/lapack_calls.h"

#include <cblas.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/lapack/lapack.h"

namespace attnscope::lapack {
namespace {

/// The first argument that a routine refused on this thread. BLAS and LAPACK say it by calling
/// xerbla_, through frames of C and Fortran that no exception may cross.
struct Refusal {
  std::string routine;
  int argument = 0;  // 0: none
};
thread_local Refusal refusal;

#if defined(__linux__) && defined(__x86_64__)
// What OpenBLAS calls when it is loaded. Not there where it was built for one CPU alone.
extern "C" [[gnu::weak]] void gotoblas_dynamic_init();
extern "C" [[gnu::weak]] void gotoblas_dynamic_quit();

/// On CPUs that are younger than itself OpenBLAS takes older kernels than they could run: on a Xeon
/// of 2023 those of SSE3. It chooses again by what the CPU can do, unless the user chose.
void take_newer_kernels() {
  constexpr const char* kChoice = "OPENBLAS_CORETYPE";
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  if (std::getenv(kChoice) != nullptr) return;
  gotoblas_dynamic_init();  // nothing where that is done
  const std::string_view taken = openblas_get_corename(), best = Kernels().instruction_set();
  const bool is_oldest = taken == "Prescott";
  const char* newer = nullptr;
  const bool is_old = is_oldest || taken == "Haswell" || taken == "Zen";
  if (best == "AVX-512" && is_old) newer = "SkylakeX";
  if (best == "AVX2" && is_oldest) newer = "Haswell";
  if (newer == nullptr) return;
  setenv(kChoice, newer, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kChoice);
}
#else
void take_newer_kernels() {}
#endif

/// Before anything is computed.
[[maybe_unused]] const bool is_set_up = [] {
  take_newer_kernels();
  openblas_set_num_threads(1);
  return true;
}();

}  // namespace

/// Says that `argument` of `routine` is illegal; stands in for the function of that name in BLAS
/// and LAPACK, which prints on stdout, and so has to be seen from outside. Its length is an int or
/// a size_t, whoever calls.
extern "C" [[gnu::visibility("default")]] void xerbla_(const char* routine, const int* argument,
                                                       int length) {
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

int to_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::unsupported, "matrix", "has a side over 2147483647");
  }
  return static_cast<int>(size);
}

int leading(std::int64_t size) { return std::max(1, to_int(size)); }

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

}  // namespace attnscope::lapack

namespace attnscope {

std::string blas_description() {
  return std::string(openblas_get_config()) + ", kernels " + openblas_get_corename();
}

}  // namespace attnscope
