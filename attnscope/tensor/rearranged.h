// Tensors whose rows are stored in another order, transposed, or in several tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// A permutation of rows. Rows form groups of outer * inner * run, stored as (inner, outer, run).
/// Row (group, a, b, c) of the tensor is row (group, b, a, c) of the file.
struct RowOrder {
  std::int64_t groups = 1;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t run = 1;

  std::int64_t rows() const { return groups * outer * inner * run; }
  std::int64_t stored_row(std::int64_t row) const;
};

/// Returns the tensor with its rows in the model's order. For a tensor with one axis, the elements
/// are reordered. `stored` has order.rows() rows (or elements) and one or two axes. Its dtype is
/// not float64, because sources return float32.
TensorView with_rows_in_order(const TensorView& stored, const RowOrder& order);

/// Reorders the columns of a tensor with two axes and order.rows() columns.
TensorView with_columns_in_order(const TensorView& stored, const RowOrder& order);

/// Returns the transpose of a tensor with two axes.
TensorView transposed(const TensorView& stored);

/// Returns some rows of `stored`, or of its transpose. `stored` has two axes and is not transposed
/// by strides.
struct RowPart {
  TensorView stored;
  bool transposed = false;

  std::int64_t rows() const { return stored.shape[transposed ? 1 : 0]; }
  std::int64_t cols() const { return stored.shape[transposed ? 0 : 1]; }
};

/// Returns the rows of all parts, one part after another. Requires at least one part, equal column
/// counts, and no float64.
TensorView one_after_another(std::vector<RowPart> parts);

/// Returns rows of zeros with the dtype and column count of `like`, which has two axes. They take
/// no memory.
TensorView rows_of_zeros(const TensorView& like, std::int64_t rows);

}  // namespace attnscope
