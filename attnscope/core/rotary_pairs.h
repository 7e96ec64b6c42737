// How rotary positions pair the dimensions of a head.
#pragma once

#include <cstdint>

namespace attnscope {

/// Which dimensions of a head the pairs 0 … n − 1 are.
enum class RotaryPairs {
  halves,      // k and k + n
  neighbours,  // 2k and 2k + 1
};

/// The first dimension of a pair, and how far the second is from it.
struct RotaryPair {
  std::int64_t first, step;
};

constexpr RotaryPair rotary_pair(RotaryPairs pairs, std::int64_t pair, std::int64_t count) {
  return pairs == RotaryPairs::halves ? RotaryPair{pair, count} : RotaryPair{2 * pair, 1};
}

}  // namespace attnscope
