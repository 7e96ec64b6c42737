// Sums that compilers turn into vector code.
#pragma once

#include <cstddef>

namespace attnscope {

/// Σ of(0) … of(count − 1), in eight sums side by side, which do not wait for each other.
template <class Of>
double sum_over(std::size_t count, const Of& of) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t at = 0;
  for (; at + kSums <= count; at += kSums) {
    for (std::size_t part = 0; part < kSums; ++part) sums[part] += of(at + part);
  }
  for (; at < count; ++at) sums[0] += of(at);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace attnscope
