// Common to both chases.
#pragma once

#include <cstddef>

namespace attnscope::kernels {

/// Sweeps that run at the same time, each two blocks behind the previous one, where they are
/// independent. So a part of the band is chased eight times while it is in the cache.
inline constexpr std::size_t kSweeps = 8;

}  // namespace attnscope::kernels
