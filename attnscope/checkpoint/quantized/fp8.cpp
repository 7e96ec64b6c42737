// float8 values with one scale per block, per row, or per tensor.
#include <nlohmann/json.hpp>

#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/scale_grid.h"

namespace attnscope {
namespace {

using nlohmann::json;

struct Block {
  std::int64_t rows = 0, cols = 0;
};

/// `weight_block_size`; the default is 128 x 128, as in DeepSeek.
Block read_block(const WeightParts& parts) {
  const auto found = parts.config().find("weight_block_size");
  if (found == parts.config().end() || found->is_null()) return {128, 128};
  const auto is_size = [](const json& size) {
    return size.is_number_integer() && size >= 1 && size <= 1'000'000'000;
  };
  if (!found->is_array() || found->size() != 2 || !is_size((*found)[0]) || !is_size((*found)[1])) {
    parts.refuse_config("'weight_block_size' is not a pair of sizes");
  }
  return {(*found)[0], (*found)[1]};
}

/// The blocks that the scale's shape implies, and their description in the output.
struct ScaleLayout {
  Block block;
  std::string words;
};

ScaleLayout layout_of(const WeightParts& parts, const CheckpointTensor& scale, const Shape& weight,
                      const Block& block) {
  const Shape& shape = scale.view.shape;
  const std::int64_t rows = weight[0], cols = weight[1];
  if (scale.view.element_count() == 1 && shape.size() <= 2) return {{rows, cols}, "one scale"};
  if (shape == Shape{rows} || shape == Shape{rows, 1}) return {{1, cols}, "one scale per row"};
  parts.check(scale, {scale.view.dtype},
              {blocks_of(rows, block.rows), blocks_of(cols, block.cols)});
  return {block, "scales of " + std::to_string(block.rows) + " x " + std::to_string(block.cols)};
}

bool is_float8(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.bits == 8 && info.kind == DTypeClass::real && dtype != DType::f8_e8m0;
}

}  // namespace

void compose_fp8(WeightParts& parts) {
  const Block block = read_block(parts);
  for (const CheckpointTensor& tensor : parts.tensors()) {
    if (!is_float8(tensor.view.dtype)) continue;
    const CheckpointTensor* scale = parts.find(tensor.name + "_scale_inv");
    if (scale == nullptr) scale = parts.find(tensor.name + "_scale");
    if (scale == nullptr) {
      for (const char* ending : {"_scale_inv", "_scale"}) {
        if (parts.is_elsewhere(tensor.name + ending)) parts.leave_out(tensor);
      }
      continue;
    }
    parts.check_dtype(tensor, {tensor.view.dtype});
    parts.check_axes(tensor, 2);
    parts.check_dtype(*scale, {DType::f32, DType::bf16, DType::f16, DType::f8_e8m0});
    const ScaleLayout layout = layout_of(parts, *scale, tensor.view.shape, block);
    const std::int64_t rows = tensor.view.shape[0], cols = tensor.view.shape[1];
    // 8-bit scales are not a dtype for computation, so the library returns bfloat16.
    const DType dtype = scale->view.dtype == DType::f8_e8m0 ? DType::bf16 : scale->view.dtype;
    parts.add({.name = tensor.name,
               .dtype = dtype,
               .shape = tensor.view.shape,
               .source = std::make_shared<ScaleGrid>(
                   ScaleGridParts{.rows = rows,
                                  .cols = cols,
                                  .codes = {.tensor = tensor.view},
                                  .scales = scale->view,
                                  .block_rows = layout.block.rows,
                                  .groups = {.columns_each = layout.block.cols,
                                             .count = blocks_of(cols, layout.block.cols)},
                                  .dtype = dtype}),
               .stored_as = std::string(dtype_name(tensor.view.dtype)) + ", " + layout.words},
              {&tensor, scale});
  }
}

}  // namespace attnscope
