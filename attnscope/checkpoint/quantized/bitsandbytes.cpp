// bitsandbytes: 4-bit indices into a table with one scale per block, or int8 with one scale per
// row.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/rounding.h"
#include "attnscope/checkpoint/quantized/scale_grid.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Nested quantization of the scales: table[code] * scale of the code's block + offset.
struct NestedScales {
  TensorView table;  // f32 (256,)
  TensorView scales;
  std::int64_t block = 0;
  float offset = 0;
};

struct FourBitParts {
  std::int64_t rows = 0, cols = 0;
  TensorView codes;  // bytes with any dtype: two values per byte, the first in the upper half
  TensorView table;  // f32 (16,)
  TensorView state;  // block sizes, offset and dtype were read from this tensor
  TensorView scales;
  std::int64_t block = 0;
  std::optional<NestedScales> nested;
  DType dtype = DType::f32;
};

std::span<const std::byte> elements(const TensorView& tensor, std::int64_t first,
                                    std::int64_t end) {
  const std::int64_t each = dtype_info(tensor.dtype).bits / 8;
  return tensor.bytes.subspan(static_cast<std::size_t>(first * each),
                              static_cast<std::size_t>((end - first) * each));
}

/// Computes table[code] * scale, rounded to `dtype`. Blocks are runs of values in row-major order.
class FourBitSource final : public ValueSource {
 public:
  explicit FourBitSource(FourBitParts parts) : parts_(std::move(parts)) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    std::array<float, 16> table;
    decode_elements(parts_.table, 0, 1, 16, table.data());
    for (std::int64_t row = 0; row < out.rows; ++row) {
      const std::int64_t first = (first_row + row) * parts_.cols + first_col;
      float* line = out.data + row * out.row_stride;
      for (std::int64_t done = 0; done < out.cols;) {
        const std::int64_t at = first + done;
        const std::int64_t count = std::min(out.cols - done, parts_.block - at % parts_.block);
        decode_run(table, scale_of(at / parts_.block), at, {line + done, std::size_t(count)});
        done += count;
      }
      round_values(parts_.dtype, {line, static_cast<std::size_t>(out.cols)});
    }
  }

  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t, std::int64_t) const override {
    const std::int64_t begin = first_row * parts_.cols, end = begin + rows * parts_.cols;
    if (begin == end) return {};
    const std::int64_t first_block = begin / parts_.block, blocks = blocks_of(end, parts_.block);
    std::vector<std::span<const std::byte>> out = {
        parts_.codes.bytes.subspan(static_cast<std::size_t>(begin / 2),
                                   static_cast<std::size_t>((end + 1) / 2 - begin / 2)),
        parts_.table.bytes, parts_.state.bytes, elements(parts_.scales, first_block, blocks)};
    if (parts_.nested) {
      out.push_back(parts_.nested->table.bytes);
      out.push_back(elements(parts_.nested->scales, first_block / parts_.nested->block,
                             blocks_of(blocks, parts_.nested->block)));
    }
    return out;
  }

 private:
  float scale_of(std::int64_t block) const {
    float scale = 0;
    if (!parts_.nested) {
      decode_elements(parts_.scales, block, 1, 1, &scale);
      return scale;
    }
    const NestedScales& nested = *parts_.nested;
    const auto code =
        std::to_integer<std::int64_t>(parts_.scales.bytes[static_cast<std::size_t>(block)]);
    float value = 0;
    decode_elements(nested.table, code, 1, 1, &value);
    decode_elements(nested.scales, block / nested.block, 1, 1, &scale);
    return value * scale + nested.offset;
  }

  void decode_run(const std::array<float, 16>& table, float scale, std::int64_t first,
                  std::span<float> out) const {
    std::array<float, 16> scaled;
    for (std::size_t code = 0; code < 16; ++code) scaled[code] = table[code] * scale;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(parts_.codes.bytes.data());
    std::size_t at = 0;
    if (first % 2 == 1) out[at++] = scaled[bytes[first / 2] & 15];
    const std::uint8_t* pair = bytes + (first + 1) / 2;
    for (; at + 1 < out.size(); at += 2, ++pair) {
      out[at] = scaled[*pair >> 4];
      out[at + 1] = scaled[*pair & 15];
    }
    if (at < out.size()) out[at] = scaled[*pair >> 4];
  }

  FourBitParts parts_;
};

/// The contents of "quant_state" of a weight.
struct FourBitState {
  Shape shape;
  std::int64_t block = 0;
  std::int64_t nested_block = 0;
  float nested_offset = 0;
  DType dtype = DType::f32;
};

class StateReader {
 public:
  StateReader(const WeightParts& parts, const CheckpointTensor& tensor)
      : parts_(parts), tensor_(tensor) {
    parts.check_dtype(tensor, {DType::u8});
    constexpr std::size_t kMaxBytes = 100'000;
    if (tensor.view.bytes.size() > kMaxBytes)
      parts.refuse(tensor, "is too long for a quantization state");
    const auto bytes = parts.bytes(tensor);
    state_ = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                        parts.place_of(tensor).file, "tensor '" + tensor.name + "'");
    if (!state_.is_object()) parts.refuse(tensor, "is not a JSON object");
  }

  std::int64_t size(const char* key) const { return as_size(field(key), key); }

  Shape shape() const {
    const json& value = field("shape");
    if (!value.is_array() || value.size() != 2) refuse("shape");
    return {as_size(value[0], "shape"), as_size(value[1], "shape")};
  }

  DType dtype() const {
    const json& value = field("dtype");
    if (value == "float32") return DType::f32;
    if (value == "float16") return DType::f16;
    if (value == "bfloat16") return DType::bf16;
    refuse("dtype");
  }

  float real(const char* key) const {
    const json& value = field(key);
    if (!value.is_number()) refuse(key);
    return value.get<float>();
  }

 private:
  [[noreturn]] void refuse(const std::string& key) const {
    parts_.refuse(tensor_, "its '" + key + "' is missing or invalid");
  }

  const json& field(const char* key) const {
    const auto found = state_.find(key);
    if (found == state_.end()) refuse(key);
    return *found;
  }

  std::int64_t as_size(const json& value, const char* key) const {
    constexpr std::int64_t kMax = 1'000'000'000;
    if (!value.is_number_integer() || value < 1 || value > kMax) refuse(key);
    return value.get<std::int64_t>();
  }

  const WeightParts& parts_;
  const CheckpointTensor& tensor_;
  json state_;
};

void check_count(const WeightParts& parts, const CheckpointTensor& tensor,
                 std::initializer_list<DType> dtypes, std::int64_t count) {
  parts.check_dtype(tensor, dtypes);
  if (tensor.view.element_count() == count) return;
  parts.refuse(tensor, "contains " + counted(tensor.view.element_count(), "value") + ", expected " +
                           std::to_string(count) + " (from the weight's shape and block size)");
}

void compose_four_bits(WeightParts& parts, const CheckpointTensor& state_tensor,
                       const std::string& name, const std::string& kind) {
  if (!parts.has_all(state_tensor, {name, name + ".absmax", name + ".quant_map"})) return;
  const CheckpointTensor& codes = *parts.find(name);
  const CheckpointTensor& scales = *parts.find(name + ".absmax");
  const CheckpointTensor& table = *parts.find(name + ".quant_map");
  const StateReader state(parts, state_tensor);
  const Shape shape = state.shape();
  const std::int64_t values = shape[0] * shape[1], block = state.size("blocksize");
  parts.check_dtype(codes, {codes.view.dtype});
  if (static_cast<std::int64_t>(codes.view.bytes.size()) != values / 2 + values % 2) {
    parts.refuse(codes, "contains " + counted(codes.view.bytes.size(), "byte") +
                            ", expected the bytes of " + counted(values, "4-bit value"));
  }
  check_count(parts, table, {DType::f32}, 16);
  const std::int64_t blocks = blocks_of(values, block);
  FourBitParts made{.rows = shape[0],
                    .cols = shape[1],
                    .codes = codes.view,
                    .table = table.view,
                    .state = state_tensor.view,
                    .scales = scales.view,
                    .block = block,
                    .dtype = state.dtype()};
  const CheckpointTensor *nested_table = nullptr, *nested_scales = nullptr;
  if (scales.view.dtype == DType::u8) {
    if (!parts.has_all(codes, {name + ".nested_absmax", name + ".nested_quant_map"})) return;
    nested_scales = parts.find(name + ".nested_absmax");
    nested_table = parts.find(name + ".nested_quant_map");
    const std::int64_t nested_block = state.size("nested_blocksize");
    check_count(parts, *nested_table, {DType::f32}, 256);
    check_count(parts, *nested_scales, {DType::f32}, blocks_of(blocks, nested_block));
    made.nested = {.table = nested_table->view,
                   .scales = nested_scales->view,
                   .block = nested_block,
                   .offset = state.real("nested_offset")};
  }
  check_count(parts, scales, {DType::f32, DType::u8}, blocks);
  const DType dtype = made.dtype;
  std::string words = kind + ", blocks of " + std::to_string(block);
  if (made.nested) words += ", nested scales";
  parts.add({.name = name,
             .dtype = dtype,
             .shape = shape,
             .source = std::make_shared<FourBitSource>(std::move(made)),
             .stored_as = std::move(words)},
            {&codes, &scales, &table, &state_tensor, nested_table, nested_scales});
}

void compose_bytes(WeightParts& parts, const CheckpointTensor& scales, const std::string& module) {
  if (!parts.has_all(scales, {module + ".weight"})) return;
  const CheckpointTensor& codes = *parts.find(module + ".weight");
  const CheckpointTensor* format = parts.find(module + ".weight_format");
  parts.check_dtype(codes, {DType::i8});
  parts.check_axes(codes, 2);
  const std::int64_t rows = codes.view.shape[0], cols = codes.view.shape[1];
  parts.check(scales, {DType::f32}, {rows});
  if (format != nullptr) {
    check_count(parts, *format, {DType::u8}, 1);
    const auto layout = std::to_integer<int>(parts.bytes(*format)[0]);
    if (layout != 0) {
      parts.refuse_unread(codes, "layout " + std::to_string(layout) + " of bitsandbytes' INT8");
    }
  }
  parts.add({.name = codes.name,
             .dtype = DType::f32,
             .shape = codes.view.shape,
             .source = std::make_shared<ScaleGrid>(ScaleGridParts{.rows = rows,
                                                                  .cols = cols,
                                                                  .codes = {.tensor = codes.view},
                                                                  .scales = scales.view,
                                                                  .groups = {.columns_each = cols},
                                                                  .factor = 1.0f / 127}),
             .stored_as = "INT8, one scale per row"},
            {&codes, &scales, format});
}

}  // namespace

void compose_bitsandbytes(WeightParts& parts) {
  for (const CheckpointTensor& tensor : parts.tensors()) {
    for (const auto& [ending, kind] : {std::pair(".quant_state.bitsandbytes__nf4", "NF4"),
                                       std::pair(".quant_state.bitsandbytes__fp4", "FP4")}) {
      const auto name = without_ending(tensor.name, ending);
      if (name) compose_four_bits(parts, tensor, *name, kind);
    }
    const auto module = without_ending(tensor.name, ".SCB");
    if (module) compose_bytes(parts, tensor, *module);
  }
}

}  // namespace attnscope
