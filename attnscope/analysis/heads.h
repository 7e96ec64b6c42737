// Which part of a canonical matrix is one head's.
#pragma once

#include <cstdint>

#include "attnscope/core/matrix_view.h"
#include "attnscope/core/role.h"

namespace attnscope {

/// Head `head` of a canonical attention projection: rows of W_Q, and of W_K and W_V by key/value
/// head; columns of W_O. `head` counts to `shape.count(role)`.
template <class T>
MatrixView<const T> head_slice(MatrixView<const T> matrix, Role role, std::int64_t head,
                               const HeadShape& shape) {
  switch (role) {
    case Role::output: return matrix.col_block(head * shape.value_dim, shape.value_dim);
    case Role::value: return matrix.row_block(head * shape.value_dim, shape.value_dim);
    default: return matrix.row_block(head * shape.head_dim, shape.head_dim);
  }
}

/// (d + d_v, D): the rows of one key/value head in `stacked`, which is W_K over W_V.
template <class T>
Matrix<T> stacked_head(MatrixView<const T> stacked, std::int64_t kv_head, const HeadShape& shape) {
  const auto keys = stacked.row_block(kv_head * shape.head_dim, shape.head_dim);
  const auto values = stacked.row_block(shape.kv_heads * shape.head_dim + kv_head * shape.value_dim,
                                        shape.value_dim);
  return stacked_rows(keys, values);
}

}  // namespace attnscope
