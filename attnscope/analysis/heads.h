// Which part of a canonical matrix is one head's.
#pragma once

#include <cstdint>

#include "attnscope/core/matrix_view.h"
#include "attnscope/core/role.h"

namespace attnscope {

/// Head `head` of a canonical attention matrix: rows of W_Q, and of W_K and W_V by key/value head;
/// columns of W_O. `head` counts to `shape.count(role)`.
template <class T>
MatrixView<const T> head_slice(MatrixView<const T> matrix, Role role, std::int64_t head,
                               const HeadShape& shape) {
  switch (role) {
    case Role::output: return matrix.col_block(head * shape.value_dim, shape.value_dim);
    case Role::value: return matrix.row_block(head * shape.value_dim, shape.value_dim);
    default: return matrix.row_block(head * shape.head_dim, shape.head_dim);
  }
}

}  // namespace attnscope
