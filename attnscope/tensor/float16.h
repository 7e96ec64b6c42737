// One 16-bit number to float32 and back, exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace attnscope {

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
inline float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t fraction = bits & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, a normal float32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t float_exponent = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | float_exponent << 23 | fraction << 13);
}

/// The bits of a value that binary16 has exactly; those of some NaN for a NaN.
inline std::uint16_t f16_pattern(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x7F800000) {
    return static_cast<std::uint16_t>(sign | 0x7C00 | (magnitude > 0x7F800000 ? 0x200 : 0));
  }
  if (magnitude < 0x38800000) {  // below 2^-14: a whole number of 2^-24
    const float steps = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000) >> 13);
}

/// Likewise of bfloat16: the upper half.
inline std::uint16_t bf16_pattern(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

}  // namespace attnscope
