#include "attnscope/tensor/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace attnscope {
namespace {

/// The bit layout of a small float. The sign is the bit above the exponent.
struct FloatLayout {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;     // false: only the largest pattern is NaN (OCP E4M3)
  bool is_fnuz = false;  // no infinity; -0 is NaN, and the bias is larger by one
};

/// The value by definition in float64, without any code of the decoder.
double value_of(std::uint32_t bits, const FloatLayout& layout) {
  const std::uint32_t fractions = 1u << layout.fraction_bits;
  const std::uint32_t exponents = 1u << layout.exponent_bits;
  const std::uint32_t fraction = bits % fractions;
  const std::uint32_t exponent = bits / fractions % exponents;
  const double sign = bits / fractions / exponents % 2 == 1 ? -1 : 1;
  const int bias = static_cast<int>(exponents) / 2 - (layout.is_fnuz ? 0 : 1);
  if (layout.is_fnuz) {
    if (bits == fractions * exponents) return NAN;
  } else if (exponent == exponents - 1) {
    if (layout.has_infinity && fraction == 0) return sign * INFINITY;
    if (layout.has_infinity || fraction == fractions - 1) return NAN;
  }
  const double significand = static_cast<double>(fraction) / fractions + (exponent > 0 ? 1 : 0);
  return sign * significand * std::pow(2.0, std::max(static_cast<int>(exponent), 1) - bias);
}

TensorView view_of(DType dtype, std::span<const std::byte> bytes) {
  const auto count = static_cast<std::int64_t>(bytes.size()) * 8 / dtype_info(dtype).bits;
  return {.dtype = dtype, .shape = {count}, .bytes = bytes};
}

template <class T>
void expect_same_value(T got, double wanted, std::size_t pattern) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << "pattern " << pattern;
    return;
  }
  EXPECT_EQ(static_cast<double>(got), wanted) << "pattern " << pattern;
  EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << "pattern " << pattern;
}

/// Decodes all bit patterns at once in both ways, and compares each with the definition.
template <class Bits>
void expect_every_pattern(DType dtype, const FloatLayout& layout) {
  constexpr std::size_t kPatterns = std::size_t{1} << 8 * sizeof(Bits);
  std::vector<Bits> patterns(kPatterns);
  std::iota(patterns.begin(), patterns.end(), Bits{0});
  const TensorView tensor = view_of(dtype, std::as_bytes(std::span(patterns)));
  std::vector<float> floats(kPatterns);
  std::vector<double> doubles(kPatterns);
  decode_elements(tensor, 0, 1, kPatterns, floats.data());
  decode_elements(tensor, 0, 1, kPatterns, doubles.data());
  for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
    const double wanted = value_of(static_cast<std::uint32_t>(pattern), layout);
    expect_same_value(floats[pattern], wanted, pattern);
    expect_same_value(doubles[pattern], wanted, pattern);
  }
}

TEST(Decode, EveryBinary16Pattern) {
  expect_every_pattern<std::uint16_t>(DType::f16, {5, 10, /*has_infinity=*/true});
}

TEST(Decode, EveryBfloat16Pattern) {
  expect_every_pattern<std::uint16_t>(DType::bf16, {8, 7, /*has_infinity=*/true});
}

TEST(Decode, EveryFp8E5M2Pattern) {
  expect_every_pattern<std::uint8_t>(DType::f8_e5m2, {5, 2, /*has_infinity=*/true});
}

TEST(Decode, EveryFp8E4M3Pattern) {
  expect_every_pattern<std::uint8_t>(DType::f8_e4m3, {4, 3, /*has_infinity=*/false});
}

TEST(Decode, EveryFnuzPattern) {
  expect_every_pattern<std::uint8_t>(DType::f8_e4m3fnuz, {4, 3, false, /*is_fnuz=*/true});
  expect_every_pattern<std::uint8_t>(DType::f8_e5m2fnuz, {5, 2, false, /*is_fnuz=*/true});
}

TEST(Decode, EveryE8M0PatternIsAPowerOfTwo) {
  for (unsigned pattern = 0; pattern < 256; ++pattern) {
    const auto byte = static_cast<std::byte>(pattern);
    float got = 0;
    decode_elements(view_of(DType::f8_e8m0, {&byte, 1}), 0, 1, 1, &got);
    const double wanted = pattern == 255 ? NAN : std::pow(2.0, static_cast<int>(pattern) - 127);
    expect_same_value(got, wanted, pattern);
  }
}

TEST(Decode, RejectsOtherDTypes) {
  const std::vector<std::byte> bytes(8);
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeClass::real) continue;
    float untouched = 7;
    EXPECT_THROW(decode_elements(view_of(info.dtype, bytes), 0, 1, 1, &untouched),
                 std::invalid_argument)
        << info.name;
    EXPECT_EQ(untouched, 7);
  }
}

// Published values, so that the formula above is not the only reference. Source: IEEE 754-2019,
// 3.6; OCP 8-bit Floating Point Specification 1.0, table 2.
TEST(Decode, MatchesPublishedValues) {
  const struct {
    DType dtype;
    std::uint16_t bits;
    float value;
  } landmarks[] = {
      {DType::f16, 0x3C00, 1.0f},
      {DType::f16, 0x7BFF, 65504.0f},
      {DType::f16, 0x0400, 0x1p-14f},  // smallest normal
      {DType::f16, 0x0001, 0x1p-24f},  // smallest subnormal
      {DType::f16, 0x3555, 0.333251953125f},
      {DType::f16, 0xFC00, -INFINITY},
      {DType::bf16, 0x3F80, 1.0f},
      {DType::bf16, 0xC2F7, -123.5f},
      {DType::bf16, 0x7F7F, 0x1.FEp127f},
      {DType::bf16, 0x0001, 0x1p-133f},
      {DType::f8_e4m3, 0x7E, 448.0f},
      {DType::f8_e4m3, 0x08, 0x1p-6f},
      {DType::f8_e4m3, 0x01, 0x1p-9f},
      {DType::f8_e5m2, 0x7B, 57344.0f},
      {DType::f8_e5m2, 0x04, 0x1p-14f},
      {DType::f8_e5m2, 0x01, 0x1p-16f},
      {DType::f8_e5m2, 0x7C, INFINITY},
      {DType::f8_e4m3fnuz, 0x7F, 240.0f},
      {DType::f8_e4m3fnuz, 0x01, 0x1p-10f},
      {DType::f8_e5m2fnuz, 0x7F, 57344.0f},
      {DType::f8_e5m2fnuz, 0x01, 0x1p-17f},
      {DType::f8_e8m0, 0x7F, 1.0f},
  };
  for (const auto& [dtype, bits, value] : landmarks) {
    const auto bytes = std::as_bytes(std::span(&bits, 1));
    float got = 0;
    decode_elements(view_of(dtype, bytes), 0, 1, 1, &got);
    EXPECT_EQ(got, value) << dtype_name(dtype) << " 0x" << std::hex << bits;
  }
}

TEST(Decode, Float64IsExactAsFloat64AndRoundedAsFloat32) {
  const std::vector<double> stored = {1.0 / 3, -0.0, 1e300, 5e-324, INFINITY};
  const TensorView tensor = view_of(DType::f64, std::as_bytes(std::span(stored)));
  std::vector<double> doubles(stored.size());
  decode_elements(tensor, 0, 1, std::ssize(stored), doubles.data());
  EXPECT_EQ(std::memcmp(doubles.data(), stored.data(), stored.size() * sizeof(double)), 0);

  float rounded = 0;
  decode_elements(tensor, 0, 1, 1, &rounded);
  EXPECT_EQ(rounded, 1.0f / 3);
}

TEST(Decode, Float32KeepsItsBits) {
  const std::vector<std::uint32_t> patterns = {0,          0x80000000, 1,         0x3F800001,
                                               0x7F800000, 0xFF800000, 0x7FC01234};
  const TensorView tensor = view_of(DType::f32, std::as_bytes(std::span(patterns)));
  std::vector<float> floats(patterns.size());
  decode_elements(tensor, 0, 1, std::ssize(patterns), floats.data());
  EXPECT_EQ(std::memcmp(floats.data(), patterns.data(), patterns.size() * sizeof(float)), 0);
}

TEST(Decode, ReadsFromAnyByteWithAnyStride) {
  constexpr std::int64_t kCount = 24;
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind != DTypeClass::real) continue;
    const auto element_bytes = static_cast<std::size_t>(info.bits / 8);
    std::vector<std::byte> aligned(kCount * element_bytes);
    for (std::size_t at = 0; at < aligned.size(); ++at) {
      aligned[at] = static_cast<std::byte>(at % 0x40);  // no exponent of all ones, so no NaN
    }
    std::vector<double> wanted(kCount);
    decode_elements(view_of(info.dtype, aligned), 0, 1, kCount, wanted.data());

    for (std::size_t shift = 0; shift < 8; ++shift) {
      std::vector<std::byte> shifted(shift + aligned.size());
      std::copy(aligned.begin(), aligned.end(), shifted.begin() + static_cast<long>(shift));
      const TensorView tensor =
          view_of(info.dtype, std::span<const std::byte>(shifted).subspan(shift));
      for (const std::int64_t first : {0, 1, 5}) {
        for (const std::int64_t stride : {1, 2, 7}) {
          const std::int64_t count = (kCount - first + stride - 1) / stride;
          std::vector<double> got(static_cast<std::size_t>(count));
          decode_elements(tensor, first, stride, count, got.data());
          for (std::int64_t index = 0; index < count; ++index) {
            EXPECT_EQ(got[static_cast<std::size_t>(index)],
                      wanted[static_cast<std::size_t>(first + index * stride)])
                << info.name << ", shift " << shift << ", first " << first << ", stride " << stride;
          }
        }
      }
    }
  }
}

TEST(Decode, ReadsNothingForNoElements) {
  float untouched = 7;
  decode_elements(view_of(DType::f32, {}), 0, 1, 0, &untouched);
  EXPECT_EQ(untouched, 7);
}

}  // namespace
}  // namespace attnscope
