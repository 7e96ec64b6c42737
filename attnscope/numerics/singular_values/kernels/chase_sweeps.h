// What both chases have in common.
#pragma once

#include <cstddef>

namespace attnscope::kernels {

/// Sweeps under way at once, each two blocks behind the one before, where they are independent:
/// a part of the band is chased eight times while it is in the cache.
inline constexpr std::size_t kSweeps = 8;

}  // namespace attnscope::kernels
