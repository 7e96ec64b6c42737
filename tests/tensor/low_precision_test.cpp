#include "attnscope/tensor/low_precision.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace attnscope {
namespace {

TEST(Float16, RoundTripsEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(pattern);
    EXPECT_TRUE(std::isnan(value) || f16_pattern(value) == pattern) << pattern;
    EXPECT_EQ(bf16_pattern(std::bit_cast<float>(bits << 16)), pattern);
  }
  EXPECT_TRUE(std::isnan(f16_to_float(f16_pattern(std::numeric_limits<float>::quiet_NaN()))));
}

/// The bits of a float32, derived from the definition of both formats without arithmetic.
std::uint32_t wanted_bits(std::uint32_t pattern) {
  const std::uint32_t sign = (pattern & 0x8000) << 16;
  std::uint32_t exponent = pattern >> 10 & 31, fraction = pattern & 0x3FF;
  if (exponent == 31) return sign | 0x7F800000 | fraction << 13;
  if (exponent == 0 && fraction == 0) return sign;
  exponent += 127 - 15;
  if (exponent == 127 - 15) {  // subnormal: the first set bit becomes the implicit one
    ++exponent;
    for (; (fraction & 0x400) == 0; fraction <<= 1) --exponent;
  }
  return sign | exponent << 23 | (fraction & 0x3FF) << 13;
}

void expect_every_half() {
  std::vector<std::uint16_t> patterns(0x10000);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    patterns[bits] = static_cast<std::uint16_t>(bits);
  }
  std::vector<float> floats(patterns.size());
  std::vector<double> doubles(patterns.size());
  const auto count = std::ssize(patterns);
  const std::byte* at = std::as_bytes(std::span(patterns)).data();
  decode_f16(at, count, floats.data());
  decode_f16(at, count, doubles.data());
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const std::uint32_t wanted = wanted_bits(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[bits]), wanted) << bits;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f16_to_float(patterns[bits])), wanted) << bits;
    const auto value = std::bit_cast<float>(wanted);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(doubles[bits])) << bits;
    } else {
      ASSERT_EQ(doubles[bits], value) << bits;
      ASSERT_EQ(std::signbit(doubles[bits]), std::signbit(value)) << bits;
    }
  }
}

TEST(Float16, EveryPatternHasTheBitsOfItsValue) { expect_every_half(); }

TEST(Float16, DecodesAnyRangeWithoutTouchingOthers) {
  const std::vector<std::uint16_t> ones(40, 0x3C00);
  for (std::int64_t first = 0; first < 4; ++first) {
    for (std::int64_t count = 0; count < 36; ++count) {
      std::vector<float> out(40, 7);
      decode_f16(std::as_bytes(std::span(ones)).data() + 2 * first, count, out.data());
      for (std::int64_t at = 0; at < 40; ++at) {
        ASSERT_EQ(out[static_cast<std::size_t>(at)], at < count ? 1 : 7);
      }
    }
  }
}

#ifdef __x86_64__
// Libraries that were compiled with fast-math flags set these modes for the whole program.
TEST(Float16, DoesNotDependOnFlushToZero) {
  constexpr unsigned kToZero = 0x8040;  // of results, of operands
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kToZero);
  std::vector<float> values(1);
  const std::uint16_t smallest = 1;
  decode_f16(std::as_bytes(std::span(&smallest, 1)).data(), 1, values.data());
  _mm_setcsr(before);
  EXPECT_EQ(values[0], 0x1p-24f);
}
#endif

}  // namespace
}  // namespace attnscope
