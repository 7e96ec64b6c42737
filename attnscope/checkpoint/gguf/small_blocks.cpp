// Blocks of 32 values. Codes of 4 bits lie in 16 bytes: low halves are values 0 to 15, high halves
// values 16 to 31.
#include <bit>

#include "attnscope/checkpoint/gguf/block_formats.h"
#include "attnscope/checkpoint/gguf/block_scale.h"

namespace attnscope {
namespace {

constexpr int kHalf = 16;

/// What the codes of E2M1 stand for, twice over. Code 8 is +0 here, as ggml has it.
constexpr std::array<float, 16> kMxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                0, -1, -2, -3, -4, -6, -8, -12};

/// Where bit `index` of four bytes is set: 16, the fifth bit of a code.
std::array<std::int32_t, 2 * kHalf> fifth_bits(const std::uint8_t* at) {
  std::array<std::int32_t, 2 * kHalf> bits;
  const std::uint32_t all = two_bytes(at) | static_cast<std::uint32_t>(two_bytes(at + 2)) << 16;
  for (unsigned index = 0; index < bits.size(); ++index) {
    bits[index] = static_cast<std::int32_t>(all >> index & 1) << 4;
  }
  return bits;
}

void decode_table(const std::array<float, 16>& table, float scale, const std::uint8_t* codes,
                  float* out) {
  for (int index = 0; index < kHalf; ++index) {
    out[index] = scale * table[codes[index] & 0xF];
    out[kHalf + index] = scale * table[codes[index] >> 4];
  }
}

}  // namespace

void decode_q4_0(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block);
  const std::uint8_t* codes = block + 2;
  for (int index = 0; index < kHalf; ++index) {
    out[index] = scale * static_cast<float>((codes[index] & 0xF) - 8);
    out[kHalf + index] = scale * static_cast<float>((codes[index] >> 4) - 8);
  }
}

void decode_q4_1(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block), least = scale_at(block + 2);
  const std::uint8_t* codes = block + 4;
  for (int index = 0; index < kHalf; ++index) {
    out[index] = scale * static_cast<float>(codes[index] & 0xF) + least;
    out[kHalf + index] = scale * static_cast<float>(codes[index] >> 4) + least;
  }
}

void decode_q5_0(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block);
  const auto high = fifth_bits(block + 2);
  const std::uint8_t* codes = block + 6;
  for (int index = 0; index < kHalf; ++index) {
    const int low = (codes[index] & 0xF) | high[static_cast<unsigned>(index)];
    const int upper = (codes[index] >> 4) | high[static_cast<unsigned>(kHalf + index)];
    out[index] = scale * static_cast<float>(low - 16);
    out[kHalf + index] = scale * static_cast<float>(upper - 16);
  }
}

void decode_q5_1(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block), least = scale_at(block + 2);
  const auto high = fifth_bits(block + 4);
  const std::uint8_t* codes = block + 8;
  for (int index = 0; index < kHalf; ++index) {
    const int low = (codes[index] & 0xF) | high[static_cast<unsigned>(index)];
    const int upper = (codes[index] >> 4) | high[static_cast<unsigned>(kHalf + index)];
    out[index] = scale * static_cast<float>(low) + least;
    out[kHalf + index] = scale * static_cast<float>(upper) + least;
  }
}

void decode_q8_0(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block);
  const std::uint8_t* codes = block + 2;
  for (int index = 0; index < 2 * kHalf; ++index) {
    out[index] = scale * static_cast<float>(static_cast<std::int8_t>(codes[index]));
  }
}

void decode_iq4_nl(const std::uint8_t* block, float* out) {
  decode_table(kIq4Values, scale_at(block), block + 2, out);
}

void decode_mxfp4(const std::uint8_t* block, float* out) {
  // 2^(e - 128), half of what the byte means, as the table is of doubled values; the least two
  // exponents are subnormal.
  const std::uint32_t exponent = block[0];
  const std::uint32_t bits = exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23;
  decode_table(kMxfp4Values, std::bit_cast<float>(bits), block + 1, out);
}

}  // namespace attnscope
