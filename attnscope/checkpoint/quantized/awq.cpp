// AWQ, version "gemm": row-major by input, with eight 4-bit numbers (outputs) per word.
#include <array>

#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/bit_packing.h"
#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/rounding.h"
#include "attnscope/checkpoint/quantized/transposed_source.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {
namespace {

constexpr std::int64_t kInWord = 8;

struct AwqParts {
  std::int64_t outputs = 0;
  std::int64_t inputs_each = 0;  // number of inputs per group
  TensorView weights;            // (inputs, outputs / 8) words
  TensorView zeros;              // (groups, outputs / 8) words
  TensorView scales;             // (groups, outputs)
};

/// Computes (number - zero) * scale, rounded to the dtype of the scales.
class AwqSource final : public TransposedSource {
 public:
  explicit AwqSource(AwqParts parts) : TransposedSource(parts.outputs), parts_(std::move(parts)) {}

  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t first_col,
                                                std::int64_t cols) const override {
    if (rows == 0 || cols == 0) return {};
    const std::int64_t end_row = first_row + rows;
    const std::int64_t first_group = first_col / parts_.inputs_each;
    const std::int64_t groups = blocks_of(first_col + cols, parts_.inputs_each) - first_group;
    const std::int64_t word_row_bytes = parts_.outputs / kInWord * kWordBytes;
    const std::int64_t begin = first_row / kInWord * kWordBytes;
    const std::int64_t end = blocks_of(end_row, kInWord) * kWordBytes;
    const std::int64_t scale_bytes = dtype_info(parts_.scales.dtype).bits / 8;
    auto out = row_stretches(parts_.weights.bytes, word_row_bytes, first_col, cols, begin, end);
    for (const auto& more :
         {row_stretches(parts_.zeros.bytes, word_row_bytes, first_group, groups, begin, end),
          row_stretches(parts_.scales.bytes, parts_.outputs * scale_bytes, first_group, groups,
                        first_row * scale_bytes, end_row * scale_bytes)}) {
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

 private:
  /// Reads whole words, so a word may begin before the tile and end behind it.
  using Numbers = std::array<std::uint8_t, kTile + 2 * kInWord>;

  /// Returns the words of a row that contain outputs [first, first + count). The numbers start at
  /// the first word's first output.
  void unpack(const TensorView& words, std::int64_t row, std::int64_t first, std::int64_t count,
              Numbers& out) const {
    // Output k of a word is its nibble {0 4 1 5 2 6 3 7}[k].
    constexpr std::array<int, kInWord> kShift = {0, 16, 4, 20, 8, 24, 12, 28};
    const std::int64_t first_word = first / kInWord, end = blocks_of(first + count, kInWord);
    const std::byte* at = words.bytes.data() + (row * (parts_.outputs / kInWord) + first_word) * 4;
    std::uint8_t* to = out.data();
    for (std::int64_t word = first_word; word < end; ++word, at += 4, to += kInWord) {
      const std::uint32_t bits = load_word(at);
      for (std::size_t output = 0; output < kInWord; ++output) {
        to[output] = static_cast<std::uint8_t>(bits >> kShift[output] & 15);
      }
    }
  }

  void decode_columns(std::int64_t first_input, std::int64_t first_output,
                      MatrixView<float> tile) const override {
    Numbers numbers, zeros;
    std::array<float, kTile> scales;
    const auto count = static_cast<std::size_t>(tile.cols);
    const auto skipped = static_cast<std::size_t>(first_output % kInWord);
    std::int64_t group = -1;
    for (std::int64_t line = 0; line < tile.rows; ++line) {
      const std::int64_t input = first_input + line;
      if (input / parts_.inputs_each != group) {
        group = input / parts_.inputs_each;
        decode_elements(parts_.scales, group * parts_.outputs + first_output, 1, tile.cols,
                        scales.data());
        unpack(parts_.zeros, group, first_output, tile.cols, zeros);
      }
      unpack(parts_.weights, input, first_output, tile.cols, numbers);
      float* out = tile.data + line * tile.row_stride;
      for (std::size_t output = 0; output < count; ++output) {
        const int number = numbers[skipped + output] - zeros[skipped + output];
        out[output] = static_cast<float>(number) * scales[output];
      }
      round_values(parts_.scales.dtype, {out, count});
    }
  }

  AwqParts parts_;
};

}  // namespace

void compose_awq(WeightParts& parts) {
  const std::string version = parts.text("version");
  for (const CheckpointTensor& weights : parts.tensors()) {
    const auto name = without_ending(weights.name, ".qweight");
    if (!name) continue;
    if (!version.empty() && version != "gemm" && version != "GEMM") {
      parts.refuse_unread(weights, "AWQ's version '" + version + "'");
    }
    if (!parts.has_all(weights, {*name + ".qzeros", *name + ".scales"})) continue;
    const CheckpointTensor& zeros = *parts.find(*name + ".qzeros");
    const CheckpointTensor& scales = *parts.find(*name + ".scales");
    parts.check_axes(weights, 2);
    parts.check_dtype(weights, {DType::i32});
    parts.check_axes(scales, 2);
    const std::int64_t inputs = weights.view.shape[0], words = weights.view.shape[1];
    const std::int64_t groups = scales.view.shape[0], outputs = words * kInWord;
    parts.check(scales, {DType::f16, DType::bf16, DType::f32}, {groups, outputs});
    parts.check(zeros, {DType::i32}, {groups, words});
    if (inputs % groups != 0) {
      parts.refuse(weights, counted(inputs, "input is", "inputs are") + " not divisible into " +
                                counted(groups, "group") + " of equal size");
    }
    const std::int64_t each = inputs / groups;
    parts.add({.name = *name + ".weight",
               .dtype = scales.view.dtype,
               .shape = {outputs, inputs},
               .source = std::make_shared<AwqSource>(AwqParts{.outputs = outputs,
                                                              .inputs_each = each,
                                                              .weights = weights.view,
                                                              .zeros = zeros.view,
                                                              .scales = scales.view}),
               .stored_as = "AWQ 4-bit, groups of " + std::to_string(each)},
              {&weights, &zeros, &scales});
  }
}

}  // namespace attnscope
