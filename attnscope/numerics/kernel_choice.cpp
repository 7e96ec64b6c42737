#include "attnscope/numerics/kernel_choice.h"

#include <cstdlib>

#include "attnscope/base/error.h"
#include "attnscope/numerics/kernels/targets.h"

//
#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace attnscope {
namespace {

#if HWY_ARCH_X86
constexpr std::int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL, kAvx2 = HWY_AVX2, kNeon = 0;
#elif defined(HWY_ALL_NEON)  // later releases of Highway have several
constexpr std::int64_t kAvx512 = 0, kAvx2 = 0, kNeon = HWY_ALL_NEON;
#else
constexpr std::int64_t kAvx512 = 0, kAvx2 = 0, kNeon = HWY_NEON;
#endif

std::string_view name_of(std::int64_t targets) {
  if (targets & kAvx512) return "AVX-512";
  if (targets & kAvx2) return "AVX2";
  if (targets & kNeon) return "NEON";
  return "none";
}

/// Returns the index of the best of `targets` in Highway's tables.
std::size_t index_of(std::int64_t targets) {
  constexpr bool kOne = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0;  // then tables have one entry
  if (kOne) return 0;
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  return chosen.GetIndex();
}

std::int64_t supported() {
  static const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return targets;
}

}  // namespace

Kernels::Kernels() : Kernels(supported()) {}

Kernels::Kernels(std::int64_t targets)
    : instruction_set_(name_of(targets)), table_index_(index_of(targets)) {}

Kernels Kernels::named(std::string_view name) {
  if (name.empty()) return Kernels();
  if (name == "none") return Kernels(0);
  if (name == "avx2") return Kernels(supported() & ~kAvx512);
  throw Error(ErrorKind::usage,
              {.parameter = "kernels",
               .problem = '\'' + std::string(name) + "' is not supported (supported: avx2, none)"});
}

Kernels kernels_of_environment() {
  constexpr const char* kName = "ATTNSCOPE_KERNELS";
  const char* wish = std::getenv(kName);
  try {
    return Kernels::named(wish == nullptr ? "" : wish);
  } catch (const Error& error) {
    throw Error(error.kind(), kName, error.parts().problem);
  }
}

}  // namespace attnscope
