#include "attnscope/numerics/kernels/targets.h"
//
#include <hwy/targets.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "attnscope/core/error.h"
#include "attnscope/numerics/kernels/kernels.h"

namespace attnscope::kernels {
namespace {

#if HWY_ARCH_X86
constexpr std::int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL, kAvx2 = HWY_AVX2, kNeon = 0;
#elif defined(HWY_ALL_NEON)  // later releases of Highway have several
constexpr std::int64_t kAvx512 = 0, kAvx2 = 0, kNeon = HWY_ALL_NEON;
#else
constexpr std::int64_t kAvx512 = 0, kAvx2 = 0, kNeon = HWY_NEON;
#endif

std::string_view choose() {
  const char* wish = std::getenv("ATTNSCOPE_KERNELS");
  const std::string_view held = wish == nullptr ? "" : wish;
  if (held == "none") return "none";
  if (held != "" && held != "avx2") {
    throw Error(ErrorKind::usage, "ATTNSCOPE_KERNELS",
                "'" + std::string(held) + "' is neither avx2 nor none");
  }
  if (held == "avx2") hwy::DisableTargets(kAvx512);
  const std::int64_t targets = hwy::SupportedTargets();
  // That call has also chosen among all targets, the disabled ones too.
  hwy::GetChosenTarget().Update(targets);
  if (targets & kAvx512) return "AVX-512";
  if (targets & kAvx2) return "AVX2";
  if (targets & kNeon) return "NEON";
  return "none";
}

}  // namespace

std::string_view instruction_set() {
  static const std::string_view chosen = choose();
  return chosen;
}

bool available() {
  static const bool any = instruction_set() != "none";
  return any;
}

}  // namespace attnscope::kernels
