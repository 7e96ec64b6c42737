// Weights with one code for each value, and scales that blocks of values share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/quantized/bit_packing.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

// Which group of scales each column of a weight belongs to.

/// Groups of equally many adjacent columns, or groups listed by a tensor ("g_idx").
struct ColumnGroups {
  std::int64_t columns_each = 1;
  std::int64_t count = 1;
  std::optional<TensorView> listed;  // i32, one for each column
  std::string file, tensor;          // the list's file and tensor, for messages

  /// The groups of columns first, first + 1, …. Throws Error(format) if the list names a group that
  /// does not exist. This is checked only here, because the list is tensor data.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
};

/// (rows, cols) codes, row-major: real numbers, signed bytes, or unsigned numbers of `bits` bits
/// with an offset of half their range. Packed numbers start a new word in each row.
struct GridCodes {
  TensorView tensor;  // bytes and, if bits is 0, the dtype of the codes: a float8 or i8
  int bits = 0;
  BitPacking packing = BitPacking::dense;

  std::int64_t row_bytes(std::int64_t cols) const;
};

/// Zero points, on the same grid as the scales: signed bytes, or packed like codes, but down the
/// columns.
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
  float factor = 1;          // a constant beside the scales
  DType dtype = DType::f32;  // of the results
};

/// Computes (code - zero) * scale * factor, from left to right in float32, rounded to `dtype`. The
/// caller has checked all shapes.
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
