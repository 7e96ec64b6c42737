#include "attnscope/tensor/low_precision.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace attnscope {
namespace {

template <class T>
[[gnu::always_inline]] inline void decode_line(const std::byte* at, std::int64_t count, T* out) {
  for (std::int64_t index = 0; index < count; ++index) {
    std::uint16_t bits;
    std::memcpy(&bits, at + 2 * index, sizeof bits);
    if constexpr (std::endian::native == std::endian::big) {
      bits = static_cast<std::uint16_t>(bits << 8 | bits >> 8);
    }
    out[index] = static_cast<T>(f16_to_float(bits));
  }
}

#ifdef __x86_64__
/// The same loop with vectors of twice the width (AVX2), if the CPU has them: half as many steps.
template <class T>
[[gnu::target("avx2")]] void decode_line_avx2(const std::byte* at, std::int64_t count, T* out) {
  decode_line(at, count, out);
}
#endif

}  // namespace

template <class T>
void decode_f16(const std::byte* at, std::int64_t count, T* out) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return decode_line_avx2(at, count, out);
#endif
  decode_line(at, count, out);
}

template void decode_f16(const std::byte*, std::int64_t, float*);
template void decode_f16(const std::byte*, std::int64_t, double*);

namespace {

enum class Specials {
  infinity_and_nan,  // as in IEEE 754: the largest exponent encodes only Inf and NaN
  last_is_nan,       // S.1111.111 only
  minus_zero_is_nan  // "fnuz": no infinities; the bit pattern of -0 is NaN
};

/// Sign, exponent and fraction, from the highest bit down.
struct Float8Layout {
  int fraction_bits;
  int bias;
  Specials specials;
};

float signed_value(unsigned bits, const Float8Layout& layout) {
  const unsigned fractions = 1u << layout.fraction_bits;
  const unsigned exponents = 0x80u / fractions;
  const unsigned fraction = bits % fractions;
  const unsigned exponent = bits / fractions % exponents;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  switch (layout.specials) {
    case Specials::infinity_and_nan:
      if (exponent == exponents - 1) {
        return fraction == 0 ? sign * std::numeric_limits<float>::infinity() : kNan;
      }
      break;
    case Specials::last_is_nan:
      if ((bits & 0x7F) == 0x7F) return kNan;
      break;
    case Specials::minus_zero_is_nan:
      if (bits == 0x80) return kNan;
      break;
  }
  const unsigned significand = exponent == 0 ? fraction : fractions + fraction;
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - layout.bias;
  return sign * std::ldexp(static_cast<float>(significand), power - layout.fraction_bits);
}

/// E8M0 has no sign and no fraction.
float power_of_two(unsigned bits) {
  if (bits == 0xFF) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

template <class Value>
std::array<float, 256> table_of(Value value) {
  std::array<float, 256> values;
  for (unsigned bits = 0; bits < values.size(); ++bits) values[bits] = value(bits);
  return values;
}

std::array<float, 256> table_of(const Float8Layout& layout) {
  return table_of([&](unsigned bits) { return signed_value(bits, layout); });
}

}  // namespace

// Sources: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); OCP Microscaling Formats 1.0
// (E8M0); Noune et al. 2022, "8-bit numerical formats for deep neural networks" (fnuz).
const std::array<float, 256>& float8_values(DType dtype) {
  using enum Specials;
  static const auto e4m3 = table_of({.fraction_bits = 3, .bias = 7, .specials = last_is_nan});
  static const auto e5m2 = table_of({.fraction_bits = 2, .bias = 15, .specials = infinity_and_nan});
  static const auto e4m3fnuz =
      table_of({.fraction_bits = 3, .bias = 8, .specials = minus_zero_is_nan});
  static const auto e5m2fnuz =
      table_of({.fraction_bits = 2, .bias = 16, .specials = minus_zero_is_nan});
  static const auto e8m0 = table_of(power_of_two);
  switch (dtype) {
    case DType::f8_e4m3: return e4m3;
    case DType::f8_e5m2: return e5m2;
    case DType::f8_e4m3fnuz: return e4m3fnuz;
    case DType::f8_e5m2fnuz: return e5m2fnuz;
    case DType::f8_e8m0: return e8m0;
    default: throw std::invalid_argument(std::string(dtype_name(dtype)) + " is not an 8-bit float");
  }
}

}  // namespace attnscope
