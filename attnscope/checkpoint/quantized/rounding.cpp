#include "attnscope/checkpoint/quantized/rounding.h"

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace attnscope {
namespace {

constexpr std::uint32_t kSign = 0x80000000;
constexpr std::uint32_t kInfinity = 0x7F800000;

/// Drops the last `dropped` bits of the fraction, rounding to nearest, ties to even.
template <int dropped>
std::uint32_t shortened(std::uint32_t magnitude) {
  constexpr std::uint32_t kDropped = (std::uint32_t{1} << dropped) - 1;
  return (magnitude + (kDropped >> 1) + (magnitude >> dropped & 1)) & ~kDropped;
}

/// Here and below, branches are selections, so that the loops vectorize.
float nearest_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~kSign;
  const std::uint32_t rounded = magnitude > kInfinity ? magnitude : shortened<16>(magnitude);
  return std::bit_cast<float>(rounded | (bits & kSign));
}

float nearest_f16(float value) {
  constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kTooLarge = 0x47800000;     // 2^16
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~kSign;
  const std::uint32_t normal = shortened<13>(magnitude);
  // Between 0.5 and 1, float32 has steps of 2^-24, like subnormal float16 values.
  const float small = (std::bit_cast<float>(magnitude) + 0.5f) - 0.5f;
  std::uint32_t rounded = magnitude < kLeastNormal ? std::bit_cast<std::uint32_t>(small) : normal;
  rounded = normal >= kTooLarge ? kInfinity : rounded;
  rounded = magnitude > kInfinity ? magnitude : rounded;  // NaN
  return std::bit_cast<float>(rounded | (bits & kSign));
}

}  // namespace

void round_values(DType dtype, std::span<float> values) {
  switch (dtype) {
    case DType::f32: return;
    case DType::f16:
      for (float& value : values) value = nearest_f16(value);
      return;
    case DType::bf16:
      for (float& value : values) value = nearest_bf16(value);
      return;
    default: throw std::invalid_argument("cannot round to " + std::string(dtype_name(dtype)));
  }
}

}  // namespace attnscope
