// Decodes GGUF's blocks to float32. Blocks of 32 values come first: 4-bit codes are in 16 bytes,
// with values 0 to 15 in the low nibbles and values 16 to 31 in the high nibbles.
#include <array>
#include <bit>
#include <cstdint>

#include "attnscope/checkpoint/gguf/block_formats.h"
#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

std::uint16_t two_bytes(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

float scale_at(const std::uint8_t* at) { return f16_to_float(two_bytes(at)); }

/// IQ4_NL and IQ4_XS: smaller steps near zero.
constexpr std::array<float, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

constexpr int kHalf = 16;

/// Twice the values of the codes of E2M1. Code 8 is +0 here, as in ggml.
constexpr std::array<float, 16> kMxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                0, -1, -2, -3, -4, -6, -8, -12};

/// Returns 16, the fifth bit of a code, if bit `index` of four bytes is set.
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
  // 2^(e - 128), half of the encoded scale, because the table contains doubled values. The two
  // smallest exponents are subnormal.
  const std::uint32_t exponent = block[0];
  const std::uint32_t bits = exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23;
  decode_table(kMxfp4Values, std::bit_cast<float>(bits), block + 1, out);
}

// Blocks of 256 values ("K" and IQ4_XS). Each group of 16 or 32 values has a scale of 4 to 8 bits,
// which is multiplied by one or two float16 scales of the whole block.

namespace {

/// Q4_K and Q5_K: eight scales and eight minima of 6 bits in 12 bytes. Those of the first four
/// groups are in the low bits of bytes 0 to 7. For the other groups, the low 4 bits are in bytes 8
/// to 11, and the high 2 bits are in the upper bits of bytes 0 to 7.
struct PackedScales {
  explicit PackedScales(const std::uint8_t* at) {
    for (unsigned index = 0; index < 4; ++index) {
      scale[index] = static_cast<float>(at[index] & 63);
      least[index] = static_cast<float>(at[index + 4] & 63);
      scale[index + 4] = static_cast<float>((at[index + 8] & 0xF) | at[index] >> 6 << 4);
      least[index + 4] = static_cast<float>(at[index + 8] >> 4 | at[index + 4] >> 6 << 4);
    }
  }
  std::array<float, 8> scale, least;
};

}  // namespace

void decode_q2_k(const std::uint8_t* block, float* out) {
  const std::uint8_t *scales = block, *codes = block + 16;
  const float scale = scale_at(block + 80), least = scale_at(block + 82);
  for (int half = 0; half < 2; ++half, codes += 32) {
    for (int shift = 0; shift < 8; shift += 2) {
      for (int part = 0; part < 2; ++part, ++scales, out += 16) {
        const float step = scale * static_cast<float>(*scales & 0xF);
        const float offset = least * static_cast<float>(*scales >> 4);
        for (int index = 0; index < 16; ++index) {
          const int code = codes[16 * part + index] >> shift & 3;
          out[index] = step * static_cast<float>(code) - offset;
        }
      }
    }
  }
}

void decode_q3_k(const std::uint8_t* block, float* out) {
  const std::uint8_t *high = block, *codes = block + 32, *scales = block + 96;
  const float scale = scale_at(block + 108);
  for (int stretch = 0; stretch < 16; ++stretch, out += 16) {
    const int low = stretch < 8 ? scales[stretch] & 0xF : scales[stretch - 8] >> 4;
    const int upper = scales[8 + stretch % 4] >> 2 * (stretch / 4) & 3;
    const float step = scale * static_cast<float>((low | upper << 4) - 32);
    const std::uint8_t* from = codes + 32 * (stretch / 8) + 16 * (stretch % 2);
    const std::uint8_t* third = high + 16 * (stretch % 2);
    const int shift = 2 * (stretch / 2 % 4), bit = stretch / 2;
    for (int index = 0; index < 16; ++index) {
      // The third bit is stored inverted: 4 is subtracted if it is 0.
      const int code = (from[index] >> shift & 3) + (third[index] >> bit & 1) * 4 - 4;
      out[index] = step * static_cast<float>(code);
    }
  }
}

void decode_q4_k(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block), least = scale_at(block + 2);
  const PackedScales packed(block + 4);
  const std::uint8_t* codes = block + 16;
  for (unsigned stretch = 0; stretch < 8; stretch += 2, codes += 32, out += 64) {
    const float step = scale * packed.scale[stretch], offset = least * packed.least[stretch];
    const float next_step = scale * packed.scale[stretch + 1];
    const float next_offset = least * packed.least[stretch + 1];
    for (int index = 0; index < 32; ++index) {
      out[index] = step * static_cast<float>(codes[index] & 0xF) - offset;
    }
    for (int index = 0; index < 32; ++index) {
      out[32 + index] = next_step * static_cast<float>(codes[index] >> 4) - next_offset;
    }
  }
}

void decode_q5_k(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block), least = scale_at(block + 2);
  const PackedScales packed(block + 4);
  const std::uint8_t *high = block + 16, *codes = block + 48;
  for (unsigned stretch = 0; stretch < 8; ++stretch, out += 32) {
    const float step = scale * packed.scale[stretch], offset = least * packed.least[stretch];
    const int shift = stretch % 2 == 0 ? 0 : 4;
    const std::uint8_t* from = codes + 32 * (stretch / 2);
    for (int index = 0; index < 32; ++index) {
      const int code = (from[index] >> shift & 0xF) | (high[index] >> stretch & 1) << 4;
      out[index] = step * static_cast<float>(code) - offset;
    }
  }
}

void decode_q6_k(const std::uint8_t* block, float* out) {
  const std::uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float scale = scale_at(block + 208);
  for (int stretch = 0; stretch < 16; ++stretch, out += 16) {
    const float step = scale * static_cast<float>(static_cast<std::int8_t>(scales[stretch]));
    const int within = stretch % 8;  // within the half
    const std::uint8_t* from = low + 64 * (stretch / 8) + 16 * (within % 4);
    const std::uint8_t* upper = high + 32 * (stretch / 8) + 16 * (within % 2);
    const int shift = within < 4 ? 0 : 4, upper_shift = 2 * (within / 2);
    for (int index = 0; index < 16; ++index) {
      const int code = (from[index] >> shift & 0xF) | (upper[index] >> upper_shift & 3) << 4;
      out[index] = step * static_cast<float>(code - 32);
    }
  }
}

void decode_iq4_xs(const std::uint8_t* block, float* out) {
  const float scale = scale_at(block);
  const int upper = two_bytes(block + 2);
  const std::uint8_t *lower = block + 4, *codes = block + 8;
  for (int stretch = 0; stretch < 8; ++stretch, codes += 16, out += 32) {
    const int low = lower[stretch / 2] >> 4 * (stretch % 2) & 0xF;
    const float step = scale * static_cast<float>((low | (upper >> 2 * stretch & 3) << 4) - 32);
    for (int index = 0; index < 16; ++index) {
      out[index] = step * kIq4Values[codes[index] & 0xF];
      out[16 + index] = step * kIq4Values[codes[index] >> 4];
    }
  }
}

}  // namespace attnscope
