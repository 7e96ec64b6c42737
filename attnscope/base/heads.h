// Where each head lies in a canonical projection matrix.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/role.h"

namespace attnscope {

/// The location of one head in a canonical attention projection: rows of W_Q, rows of W_K and W_V
/// (by key/value head), or columns of W_O.
struct HeadCut {
  bool of_columns = false;
  std::int64_t first = 0, count = 0;
};

/// Requires 0 <= `head` < `shape.count(role)`.
inline HeadCut head_cut(Role role, std::int64_t head, const HeadShape& shape) {
  const std::int64_t inner = shape.inner_dim(role);
  return {.of_columns = role == Role::output, .first = head * inner, .count = inner};
}

template <class T>
MatrixView<const T> head_slice(MatrixView<const T> matrix, Role role, std::int64_t head,
                               const HeadShape& shape) {
  const HeadCut cut = head_cut(role, head, shape);
  return cut.of_columns ? matrix.col_block(cut.first, cut.count)
                        : matrix.row_block(cut.first, cut.count);
}

/// Returns (d + d_v, D): the rows of one key/value head in `stacked`, which is W_K stacked on W_V.
template <class T>
Matrix<T> stacked_head(MatrixView<const T> stacked, std::int64_t kv_head, const HeadShape& shape) {
  const std::int64_t key_rows = shape.total_dim(Role::key);
  const auto keys = stacked.row_block(0, key_rows);
  const auto values = stacked.row_block(key_rows, shape.total_dim(Role::value));
  return stacked_rows(head_slice(keys, Role::key, kv_head, shape),
                      head_slice(values, Role::value, kv_head, shape));
}

// How rotary position embeddings (RoPE) pair the dimensions of a head.

/// The dimensions that form rotary pair k, for k = 0 … n − 1.
enum class RotaryPairs {
  halves,     // k and k + n
  neighbors,  // 2k and 2k + 1
};

/// The first dimension of a pair, and the distance to the second one.
struct RotaryPair {
  std::int64_t first, step;
};

constexpr RotaryPair rotary_pair(RotaryPairs pairs, std::int64_t pair, std::int64_t count) {
  return pairs == RotaryPairs::halves ? RotaryPair{pair, count} : RotaryPair{2 * pair, 1};
}

}  // namespace attnscope
