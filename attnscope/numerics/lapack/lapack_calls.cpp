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

/// First argument that a routine rejected on this thread. BLAS and LAPACK report it by calling
/// xerbla_ through C and Fortran frames, which no exception may cross.
struct Refusal {
  std::string routine;
  int argument = 0;  // 0: none
};
thread_local Refusal refusal;

#if defined(__linux__) && defined(__x86_64__)
// Initialization functions of OpenBLAS. They are missing if it was built for a single CPU type.
extern "C" [[gnu::weak]] void gotoblas_dynamic_init();
extern "C" [[gnu::weak]] void gotoblas_dynamic_quit();

/// On CPUs newer than itself, OpenBLAS chooses older kernels than the CPU supports: SSE3 kernels on
/// a Xeon of 2023. This makes it choose again by the CPU's features, unless the user has chosen.
void take_newer_kernels() {
  constexpr const char* kChoice = "OPENBLAS_CORETYPE";
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  if (std::getenv(kChoice) != nullptr) return;
  gotoblas_dynamic_init();  // does nothing if already initialized
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

/// Runs before any computation.
[[maybe_unused]] const bool is_set_up = [] {
  take_newer_kernels();
  openblas_set_num_threads(1);
  return true;
}();

}  // namespace

/// Records that `argument` of `routine` is illegal. Replaces the function of this name in BLAS and
/// LAPACK, which prints to stdout. It must therefore be visible from outside. Callers pass the
/// length as int or size_t.
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
  throw Error(
      ErrorKind::numerical, said.routine,
      "rejected argument " + std::to_string(said.argument) + " (this is a bug in attnscope)");
}

int to_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::unsupported, "matrix", "has more than 2147483647 rows or columns");
  }
  return static_cast<int>(size);
}

int leading(std::int64_t size) { return std::max(1, to_int(size)); }

void check_arguments(const char* routine, int info) {
  throw_if_refused();
  if (info < 0) {
    throw Error(ErrorKind::numerical, routine,
                "rejected argument " + std::to_string(-info) + " (this is a bug in attnscope)");
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
