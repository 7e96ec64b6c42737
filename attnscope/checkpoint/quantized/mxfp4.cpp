// MXFP4, as used for the experts of gpt-oss: 4-bit floats with one power-of-two scale per 32
// values.
#include <algorithm>
#include <array>
#include <cmath>

#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/transposed_source.h"

namespace attnscope {
namespace {

constexpr std::int64_t kBlock = 32;       // values per block
constexpr std::int64_t kBlockBytes = 16;  // bytes of their codes

struct Mxfp4Parts {
  std::int64_t experts = 0, outputs = 0, inputs = 0;
  TensorView codes;   // (experts, outputs, inputs / 32, 16) bytes
  TensorView scales;  // (experts, outputs, inputs / 32) bytes
};

/// Twice the values of the codes, so that a scale of 2^128 is representable in float32 after
/// halving.
constexpr std::array<float, 16> kDoubled = {0,     1,  2,  3,  4,  6,  8,  12,
                                            -0.0f, -1, -2, -3, -4, -6, -8, -12};

/// Returns half of the scale that a byte encodes.
const std::array<float, 256>& halved_scales() {
  static const std::array<float, 256> scales = [] {
    std::array<float, 256> made;
    for (int byte = 0; byte < 256; ++byte) made[byte] = std::ldexp(1.0f, byte - 128);
    return made;
  }();
  return scales;
}

/// (experts, inputs, outputs): the right operand in the modules' products.
class Mxfp4Source final : public TransposedSource {
 public:
  explicit Mxfp4Source(Mxfp4Parts parts)
      : TransposedSource(parts.inputs), parts_(std::move(parts)) {}

  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t, std::int64_t) const override {
    if (rows == 0) return {};
    const std::int64_t first = first_row / parts_.inputs;
    const std::int64_t count = (first_row + rows - 1) / parts_.inputs + 1 - first;
    const auto of_experts = [&](std::span<const std::byte> bytes) {
      const std::size_t each = bytes.size() / static_cast<std::size_t>(parts_.experts);
      return bytes.subspan(static_cast<std::size_t>(first) * each,
                           static_cast<std::size_t>(count) * each);
    };
    return {of_experts(parts_.codes.bytes), of_experts(parts_.scales.bytes)};
  }

 private:
  void decode_columns(std::int64_t first_output, std::int64_t first_row,
                      MatrixView<float> tile) const override {
    const std::array<float, 256>& scale_of = halved_scales();
    const std::int64_t expert = first_row / parts_.inputs, first = first_row % parts_.inputs;
    const std::int64_t blocks = parts_.inputs / kBlock;
    for (std::int64_t line = 0; line < tile.rows; ++line) {
      const std::int64_t row_block = (expert * parts_.outputs + first_output + line) * blocks;
      float* out = tile.data + line * tile.row_stride;
      for (std::int64_t at = 0; at < tile.cols;) {
        const std::int64_t block = row_block + (first + at) / kBlock,
                           in_block = (first + at) % kBlock;
        const std::int64_t count = std::min(kBlock - in_block, tile.cols - at);
        const std::byte* codes = parts_.codes.bytes.data() + block * kBlockBytes;
        const float scale = scale_of[std::to_integer<std::size_t>(
            parts_.scales.bytes[static_cast<std::size_t>(block)])];
        std::array<float, kBlock> values;
        for (std::size_t byte = 0; byte < kBlockBytes; ++byte) {
          const auto pair = std::to_integer<unsigned>(codes[byte]);
          values[2 * byte] = kDoubled[pair & 15] * scale;
          values[2 * byte + 1] = kDoubled[pair >> 4] * scale;
        }
        std::copy_n(values.begin() + in_block, count, out + at);
        at += count;
      }
    }
  }

  Mxfp4Parts parts_;
};

}  // namespace

void compose_mxfp4(WeightParts& parts) {
  for (const CheckpointTensor& codes : parts.tensors()) {
    const auto name = without_ending(codes.name, "_blocks");
    if (!name || codes.view.dtype != DType::u8) continue;
    if (!parts.has_all(codes, {*name + "_scales"})) continue;
    const CheckpointTensor& scales = *parts.find(*name + "_scales");
    parts.check_dtype(codes, {DType::u8});
    parts.check_axes(codes, 4);
    const Shape& shape = codes.view.shape;
    parts.check(codes, {DType::u8}, {shape[0], shape[1], shape[2], kBlockBytes});
    parts.check(scales, {DType::u8}, {shape[0], shape[1], shape[2]});
    const std::int64_t inputs = shape[2] * kBlock;
    parts.add({.name = *name,
               .dtype = DType::bf16,
               .shape = {shape[0], inputs, shape[1]},
               .source = std::make_shared<Mxfp4Source>(Mxfp4Parts{.experts = shape[0],
                                                                  .outputs = shape[1],
                                                                  .inputs = inputs,
                                                                  .codes = codes.view,
                                                                  .scales = scales.view}),
               .stored_as = "MXFP4, blocks of 32",
               .is_linear = false},
              {&codes, &scales});
  }
}

}  // namespace attnscope
