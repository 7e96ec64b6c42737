// Tensors whose rows a file keeps in another order, or transposed.
#pragma once

#include <cstdint>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Rows in groups of outer * inner * run, each of which the file keeps as (inner, outer, run): row
/// (group, a, b, c) of the tensor is row (group, b, a, c) of the file.
struct RowOrder {
  std::int64_t groups = 1;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t run = 1;

  std::int64_t rows() const { return groups * outer * inner * run; }
  std::int64_t stored_row(std::int64_t row) const;
};

/// The tensor with its rows in the model's order. For a tensor of one axis, the elements are
/// reordered. `stored` has order.rows() rows (or elements) and one or two axes. It is not float64,
/// because sources give float32.
TensorView with_rows_in_order(const TensorView& stored, const RowOrder& order);

/// The transpose of a tensor of two axes.
TensorView transposed(const TensorView& stored);

}  // namespace attnscope
