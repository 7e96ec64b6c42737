// BitNet: numbers −1, 0 and 1 in 2 bits each, with one scale per tensor. Byte (r, c) contains rows
// r, r + R / 4, r + R / 2 and r + 3 R / 4 of column c.
#include <algorithm>
#include <cstddef>

#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {
namespace {

constexpr std::int64_t kInByte = 4;
constexpr std::int64_t kMaxPackedRows = 1'000'000'000;

struct BitnetParts {
  std::int64_t packed_rows = 0, cols = 0;
  TensorView codes;      // (rows / 4, cols) bytes
  TensorView scale;      // one value
  bool divides = false;  // weights are divided by the scale instead
};

class BitnetSource final : public ValueSource {
 public:
  explicit BitnetSource(BitnetParts parts) : parts_(std::move(parts)) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    constexpr unsigned kMask = 3;
    float scale = 1;
    decode_elements(parts_.scale, 0, 1, 1, &scale);
    for (std::int64_t at = 0; at < out.rows; ++at) {
      const std::int64_t row = first_row + at;
      const auto shift = static_cast<unsigned>(2 * (row / parts_.packed_rows));
      const std::byte* from =
          parts_.codes.bytes.data() + row % parts_.packed_rows * parts_.cols + first_col;
      for (std::int64_t col = 0; col < out.cols; ++col) {
        const unsigned code = std::to_integer<unsigned>(from[col]) >> shift & kMask;
        const float number = static_cast<float>(code) - 1;
        out(at, col) = parts_.divides ? number / scale : number * scale;
      }
    }
  }

  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t first_col,
                                                std::int64_t cols) const override {
    if (rows == 0 || cols == 0) return {};
    std::vector<std::span<const std::byte>> out = {parts_.scale.bytes};
    for (std::int64_t row = first_row; row < first_row + std::min(rows, parts_.packed_rows);
         ++row) {
      const std::int64_t first = row % parts_.packed_rows * parts_.cols + first_col;
      out.push_back(parts_.codes.bytes.subspan(static_cast<std::size_t>(first),
                                               static_cast<std::size_t>(cols)));
    }
    return out;
  }

  std::string parameters() const override { return parts_.divides ? "divided" : "multiplied"; }

 private:
  BitnetParts parts_;
};

}  // namespace

void compose_bitnet(WeightParts& parts) {
  const std::string kind = parts.text("linear_class");
  if (!kind.empty() && kind != "bitlinear" && kind != "autobitlinear") {
    parts.refuse_config("'linear_class' is '" + kind + "', expected bitlinear or autobitlinear");
  }
  for (const CheckpointTensor& weights : parts.tensors()) {
    const auto name = without_ending(weights.name, ".weight");
    if (!name || weights.view.dtype != DType::u8) continue;
    if (!parts.has_all(weights, {*name + ".weight_scale"})) continue;
    const CheckpointTensor& scale = *parts.find(*name + ".weight_scale");
    parts.check_axes(weights, 2);
    parts.check(scale, {DType::f16, DType::bf16, DType::f32}, {1});
    const std::int64_t rows = weights.view.shape[0], cols = weights.view.shape[1];
    if (rows > kMaxPackedRows) parts.refuse(weights, "has too many rows");
    parts.add(
        {.name = weights.name,
         .dtype = DType::f32,
         .shape = {kInByte * rows, cols},
         .source = std::make_shared<BitnetSource>(BitnetParts{.packed_rows = rows,
                                                              .cols = cols,
                                                              .codes = weights.view,
                                                              .scale = scale.view,
                                                              .divides = kind != "autobitlinear"}),
         .stored_as = "BitNet 2-bit, one scale"},
        {&weights, &scale});
  }
}

}  // namespace attnscope
