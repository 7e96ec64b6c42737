// Matrices that are read block by block, so that a large one need never be in memory whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

template <class T>
struct MatrixBlocks {
  std::int64_t rows = 0, cols = 0;
  /// Writes the block of that shape which starts at (first_row, first_col). Several threads call it
  /// at once, and for each block more than once.
  std::function<void(std::int64_t first_row, std::int64_t first_col, MatrixView<T> out)> read;
};

/// Decodes as decode() does; `stored` must outlive the last call.
template <class T>
MatrixBlocks<T> decoded_blocks(const TensorMatrix& stored);

/// What a first pass over the blocks tells.
struct BlockExtent {
  struct Place {
    std::int64_t row, col;
  };
  double largest_magnitude = 0;          // where all are finite
  std::optional<Place> not_finite = {};  // the first by rows, then columns
};
template <class T>
BlockExtent extent_of(const MatrixBlocks<T>& blocks, const Compute& compute = {});

/// The whole, in memory.
template <class T>
Matrix<T> assembled(const MatrixBlocks<T>& blocks, const Compute& compute = {});

/// A (n, k) of which some columns at a time are at hand: of a view, or of blocks that are read when
/// they are asked for.
template <class T>
class ColumnSource {
 public:
  explicit ColumnSource(MatrixView<const T> matrix);
  /// The blocks' matrix, or its transpose where that is the wide one. Both must outlive it.
  ColumnSource(const MatrixBlocks<T>& blocks, const Compute& compute);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  /// Columns [first, first + count), valid until the next call; of the calling thread's memory
  /// where they are read.
  MatrixView<const T> columns(std::int64_t first, std::int64_t count) const;

 private:
  MatrixView<const T> matrix_;
  const MatrixBlocks<T>* blocks_ = nullptr;
  const Compute* compute_ = nullptr;
  std::int64_t rows_, cols_;
};

}  // namespace attnscope
