// Tests whether all numbers are finite.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// Returns whether all values are finite. Uses integers and no early exit, so that it vectorizes.
/// Adding one exponent unit carries into the sign bit exactly for NaN and Inf.
template <class T>
bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  constexpr Bits kSign = ~(~Bits{0} >> 1), kUnit = kSign - kExponent;
  Bits sums = 0;
  for (const T value : values) sums |= (std::bit_cast<Bits>(value) & kExponent) + kUnit;
  return (sums & kSign) == 0;
}

template <class T>
bool all_finite(MatrixView<const T> matrix) {
  if (matrix.col_stride != 1) matrix = matrix.transposed();
  if (matrix.col_stride != 1) {
    for (std::int64_t at = 0; at < matrix.rows * matrix.cols; ++at) {
      if (!std::isfinite(matrix(at / matrix.cols, at % matrix.cols))) return false;
    }
    return true;
  }
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (!all_finite(std::span(&matrix(row, 0), static_cast<std::size_t>(matrix.cols)))) {
      return false;
    }
  }
  return true;
}

// Sums that compilers can vectorize.

/// Returns Σ of(0) … of(count − 1), computed as eight independent partial sums to hide latency.
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
