// Blocks of 256 values ("K" and IQ4_XS): scales of 4 to 8 bits for each 16 or 32 values, times one
// or two float16 scales of the whole block.
#include "attnscope/checkpoint/gguf/block_formats.h"
#include "attnscope/checkpoint/gguf/block_scale.h"

namespace attnscope {
namespace {

/// Q4_K and Q5_K: eight scales and eight minima of 6 bits in 12 bytes. Those of the first four
/// stretches fill the low bits of bytes 0 to 7; of the others the low 4 bits are in bytes 8 to 11,
/// and the high 2 above those of the first four.
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
      // The third bit is kept inverted: 4 is taken off where it is 0.
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
    const int within = stretch % 8;  // of the half
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
