// GPTQ: row-major by input, with numbers packed along the inputs.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/bit_packing.h"
#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/rounding.h"
#include "attnscope/checkpoint/quantized/scale_grid.h"
#include "attnscope/checkpoint/quantized/transposed_source.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {
namespace {

struct GptqParts {
  int bits = 4;
  bool adds_one = false;  // added to stored zero points; checkpoint_format "gptq" stores them minus
                          // 1
  std::int64_t outputs = 0;
  TensorView weights;  // (inputs * bits / 32, outputs) words
  TensorView zeros;    // (groups, outputs * bits / 32) words
  TensorView scales;   // (groups, outputs)
  ColumnGroups groups;
};

/// Computes scale * (number - zero), rounded to the dtype of the scales.
class GptqSource final : public TransposedSource {
 public:
  explicit GptqSource(GptqParts parts)
      : TransposedSource(parts.outputs), parts_(std::move(parts)) {}

  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t first_col,
                                                std::int64_t cols) const override {
    if (rows == 0 || cols == 0) return {};
    const std::int64_t end_row = first_row + rows, bits = parts_.bits;
    const std::int64_t first_word = first_col * bits / kWordBits;
    const std::int64_t end_word = blocks_of((first_col + cols) * bits, kWordBits);
    const std::int64_t scale_bytes = dtype_info(parts_.scales.dtype).bits / 8;
    std::vector<std::span<const std::byte>> out;
    const auto add = [&](const TensorView& table, std::int64_t row_bytes, std::int64_t first,
                         std::int64_t count, std::int64_t begin, std::int64_t end) {
      const auto more = row_stretches(table.bytes, row_bytes, first, count, begin, end);
      out.insert(out.end(), more.begin(), more.end());
    };
    add(parts_.weights, parts_.outputs * kWordBytes, first_word, end_word - first_word,
        first_row * kWordBytes, end_row * kWordBytes);
    add(parts_.zeros, parts_.outputs * bits / 8, 0, parts_.groups.count,
        first_row * bits / kWordBits * kWordBytes,
        blocks_of(end_row * bits, kWordBits) * kWordBytes);
    add(parts_.scales, parts_.outputs * scale_bytes, 0, parts_.groups.count,
        first_row * scale_bytes, end_row * scale_bytes);
    if (parts_.groups.listed) out.push_back(parts_.groups.listed->bytes);
    return out;
  }

 private:
  using Outputs = std::array<float, kTile>;

  void read_group(std::int64_t group, std::int64_t first_output, std::int64_t count,
                  Outputs& scales, Outputs& zeros) const {
    decode_elements(parts_.scales, group * parts_.outputs + first_output, 1, count, scales.data());
    std::array<std::uint8_t, kTile> stored;
    const std::int64_t row_bytes = parts_.outputs * parts_.bits / 8;
    unpack_bits(BitPacking::dense, parts_.bits, parts_.zeros.bytes.data() + group * row_bytes,
                first_output, {stored.data(), static_cast<std::size_t>(count)});
    const unsigned more = parts_.adds_one ? 1 : 0, mask = (1u << parts_.bits) - 1;
    for (std::size_t output = 0; output < kTile; ++output) {
      zeros[output] = static_cast<float>((stored[output] + more) & mask);
    }
  }

  void decode_columns(std::int64_t first_input, std::int64_t first_output,
                      MatrixView<float> tile) const override {
    std::array<std::int64_t, kTile> groups;
    parts_.groups.read(first_input, {groups.data(), static_cast<std::size_t>(tile.rows)});
    std::array<std::uint8_t, kTile> numbers;
    Outputs scales, zeros;
    std::int64_t group = -1;
    for (std::int64_t line = 0; line < tile.rows; ++line) {
      if (groups[static_cast<std::size_t>(line)] != group) {
        group = groups[static_cast<std::size_t>(line)];
        read_group(group, first_output, tile.cols, scales, zeros);
      }
      const auto count = static_cast<std::size_t>(tile.cols);
      unpack_down_columns(BitPacking::dense, parts_.bits, parts_.weights.bytes.data(),
                          parts_.outputs, first_input + line, first_output,
                          {numbers.data(), count});
      float* out = tile.data + line * tile.row_stride;
      for (std::size_t output = 0; output < count; ++output) {
        out[output] = scales[output] * (static_cast<float>(numbers[output]) - zeros[output]);
      }
      round_values(parts_.scales.dtype, {out, count});
    }
  }

  GptqParts parts_;
};

/// Whether zero points are stored minus 1.
bool stores_zeros_less_one(const WeightParts& parts, const CheckpointTensor& weights) {
  std::string format = parts.text("checkpoint_format");
  if (format.empty()) format = parts.text("format");
  if (format.empty() || format == "gptq") return true;
  if (format == "gptq_v2") return false;
  parts.refuse_unread(weights, "GPTQ's checkpoint_format '" + format + "'");
}

/// Derived from the shapes, because the configuration may have exceptions for some layers.
int bits_of(const WeightParts& parts, const CheckpointTensor& zeros, std::int64_t outputs) {
  for (const int bits : {2, 3, 4, 8}) {
    if (outputs * bits % kWordBits == 0 && outputs * bits / kWordBits == zeros.view.shape[1]) {
      return bits;
    }
  }
  parts.refuse(zeros, counted(zeros.view.shape[1], "word") + " for " + counted(outputs, "output") +
                          ": not packed with 2, 3, 4 or 8 bits");
}

ColumnGroups groups_of(const WeightParts& parts, const CheckpointTensor& scales,
                       const CheckpointTensor* listed, std::int64_t inputs, std::int64_t count) {
  const std::int64_t size = parts.number("group_size").value_or(-1);
  const std::int64_t each = size > 0 ? std::min(size, inputs) : inputs;
  ColumnGroups groups{.columns_each = each, .count = count};
  if (listed != nullptr) {
    parts.check(*listed, {DType::i32}, {inputs});
    const ErrorParts place = parts.place_of(*listed);
    groups.listed = listed->view;
    groups.file = place.file;
    groups.tensor = place.tensor;
  } else if (blocks_of(inputs, each) != count) {
    parts.refuse(scales, counted(count, "group does not match ", "groups do not match ") +
                             counted(inputs, "input") + ", " + std::to_string(each) + " in each");
  }
  return groups;
}

}  // namespace

void compose_gptq(WeightParts& parts) {
  for (const CheckpointTensor& weights : parts.tensors()) {
    const auto name = without_ending(weights.name, ".qweight");
    if (!name || !parts.has_all(weights, {*name + ".qzeros", *name + ".scales"})) continue;
    const CheckpointTensor& zeros = *parts.find(*name + ".qzeros");
    const CheckpointTensor& scales = *parts.find(*name + ".scales");
    const CheckpointTensor* listed = parts.find(*name + ".g_idx");
    for (const CheckpointTensor* part : {&weights, &zeros, &scales}) parts.check_axes(*part, 2);
    parts.check_dtype(weights, {DType::i32});
    parts.check_dtype(zeros, {DType::i32});
    const std::int64_t outputs = weights.view.shape[1], count = scales.view.shape[0];
    parts.check(scales, {DType::f16, DType::bf16, DType::f32}, {count, outputs});
    const int bits = bits_of(parts, zeros, outputs);
    parts.check(zeros, {DType::i32}, {count, outputs * bits / kWordBits});
    const auto said = parts.number("bits");
    if (said && *said != bits && !parts.config().contains("dynamic")) {
      parts.refuse(zeros, "has " + std::to_string(bits) +
                              " bits, but the configuration specifies " + std::to_string(*said));
    }
    const std::int64_t words = weights.view.shape[0];
    const std::int64_t inputs = words * kWordBits / bits;
    if (words % bits != 0 && bits == 3) {
      parts.refuse(weights,
                   counted(words, "word is", "words are") + " not a whole number of 3-bit inputs");
    }
    GptqParts made{.bits = bits,
                   .adds_one = stores_zeros_less_one(parts, weights),
                   .outputs = outputs,
                   .weights = weights.view,
                   .zeros = zeros.view,
                   .scales = scales.view,
                   .groups = groups_of(parts, scales, listed, inputs, count)};
    const std::string version = made.adds_one ? "GPTQ " : "GPTQ v2 ";
    const std::string each = std::to_string(made.groups.columns_each);
    parts.add({.name = *name + ".weight",
               .dtype = scales.view.dtype,
               .shape = {outputs, inputs},
               .source = std::make_shared<GptqSource>(std::move(made)),
               .stored_as = version + std::to_string(bits) + "-bit, groups of " + each},
              {&weights, &zeros, &scales, listed});
  }
}

}  // namespace attnscope
