// Tensors whose rows a file keeps in another order, transposed, or in several tensors.
#pragma once

#include <cstdint>
#include <vector>

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

/// The same of the columns of a tensor of two axes, of which there are order.rows().
TensorView with_columns_in_order(const TensorView& stored, const RowOrder& order);

/// The transpose of a tensor of two axes.
TensorView transposed(const TensorView& stored);

/// Some rows of a tensor: those of `stored`, which has two axes and is not transposed by strides,
/// or of its transpose.
struct RowPart {
  TensorView stored;
  bool transposed = false;

  std::int64_t rows() const { return stored.shape[transposed ? 1 : 0]; }
  std::int64_t cols() const { return stored.shape[transposed ? 0 : 1]; }
};

/// The rows of all parts, one part after another. There is at least one; all have as many columns,
/// and none is float64.
TensorView one_after_another(std::vector<RowPart> parts);

/// Rows of zeros, of the dtype and width of `like`, which has two axes. They take no bytes.
TensorView rows_of_zeros(const TensorView& like, std::int64_t rows);

}  // namespace attnscope
