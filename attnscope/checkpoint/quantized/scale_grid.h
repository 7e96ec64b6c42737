// Weights with one code per value, and scales that are shared by blocks of values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/quantized/bit_packing.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

// The group of scales to which each column of a weight belongs.

/// Groups of equally many adjacent columns, or groups listed by a tensor ("g_idx").
struct ColumnGroups {
  std::int64_t columns_each = 1;
  std::int64_t count = 1;
  std::optional<TensorView> listed;  // i32, one per column
  std::string file, tensor;          // the file and tensor of the list, for messages

  /// Returns the groups of columns first, first + 1, …. Throws Error(format) if the list contains a
  /// group that does not exist. This is checked only here, because the list is tensor data.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
};

/// (rows, cols) codes, row-major: real numbers, int8, or unsigned numbers of `bits` bits with an
/// offset of half their range. Packed numbers start a new word in each row.
struct GridCodes {
  TensorView tensor;  // bytes and, if bits is 0, the dtype of the codes: a float8 or i8
  int bits = 0;
  BitPacking packing = BitPacking::dense;

  std::int64_t row_bytes(std::int64_t cols) const;
};

/// Zero points, on the same grid as the scales: int8, or packed like codes, but along the columns.
struct GridZeros {
  TensorView tensor;
  int bits = 0;
  BitPacking packing = BitPacking::dense;
};

struct ScaleGridParts {
  std::int64_t rows = 0, cols = 0;
  GridCodes codes;
  TensorView scales;  // real, row-major, (ceil(rows / block_rows), groups.count)
  std::int64_t block_rows = 1;
  ColumnGroups groups;
  std::optional<GridZeros> zeros;
  float factor = 1;          // a constant factor in addition to the scales
  DType dtype = DType::f32;  // dtype of the results
};

/// Computes (code - zero) * scale * factor, from left to right in float32, rounded to `dtype`. The
/// caller must have checked all shapes.
class ScaleGrid final : public ValueSource {
 public:
  explicit ScaleGrid(ScaleGridParts parts) : parts_(std::move(parts)) {}

  void decode(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const override;
  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t first_col,
                                                std::int64_t cols) const override;

 private:
  ScaleGridParts parts_;
};

}  // namespace attnscope
