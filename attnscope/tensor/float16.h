// One binary16 number to float32, exactly.
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

}  // namespace attnscope
