// Shared by the block formats: their scales, and the values of IQ4's 4-bit codes.
#pragma once

#include <array>
#include <cstdint>

#include "attnscope/tensor/low_precision.h"

namespace attnscope {

inline std::uint16_t two_bytes(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

inline float scale_at(const std::uint8_t* at) { return f16_to_float(two_bytes(at)); }

/// IQ4_NL and IQ4_XS: steps that are finer near zero.
inline constexpr std::array<float, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace attnscope
