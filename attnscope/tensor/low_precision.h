// Converts 16-bit floats to float32 and back, and 8-bit floats to float32, exactly.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. The code has no
/// branches, so that loops over it vectorize. It avoids arithmetic on subnormal float32, because
/// some programs set their CPU to treat those as zero.
inline float f16_to_float(std::uint16_t bits) {
  constexpr std::uint32_t kExponent = 1u << 23;  // 1 in the exponent of a float32
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
  const float normal = std::bit_cast<float>(magnitude + (127 - 15) * kExponent);
  // Subnormals: fraction * 2^-24 is added to 2^-14, which is then subtracted. Of the two
  // candidates, the smaller one is always right.
  const float subnormal = std::bit_cast<float>(magnitude + (127 - 14) * kExponent) - 0x1p-14f;
  const float value = subnormal < normal ? subnormal : normal;
  const std::uint32_t not_finite = value >= 0x1p16f ? 255 * kExponent : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | not_finite | sign);
}

/// Converts an array of little-endian values.
template <class T>
void decode_f16(const std::byte* at, std::int64_t count, T* out);

/// Returns the bits of a value that binary16 represents exactly. A NaN becomes some NaN.
inline std::uint16_t f16_pattern(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x7F800000) {
    return static_cast<std::uint16_t>(sign | 0x7C00 | (magnitude > 0x7F800000 ? 0x200 : 0));
  }
  if (magnitude < 0x38800000) {  // below 2^-14: an integer multiple of 2^-24
    const float steps = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000) >> 13);
}

/// The same for bfloat16, which is the upper half of a float32.
inline std::uint16_t bf16_pattern(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

/// Rounds to the nearest bfloat16, ties to even.
inline float rounded_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t odd = bits >> 16 & 1;
  return std::bit_cast<float>((bits + 0x7FFF + odd) & 0xFFFF0000);
}

// The 8-bit floating-point formats. Each has 256 values, so a table contains all of them.

/// Returns the exact value of each bit pattern. Throws std::invalid_argument for a dtype that is
/// not an 8-bit float.
const std::array<float, 256>& float8_values(DType dtype);

}  // namespace attnscope
