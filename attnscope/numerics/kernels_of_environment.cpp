#include "attnscope/numerics/kernels_of_environment.h"

#include <cstdlib>

#include "attnscope/core/error.h"

namespace attnscope {

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
