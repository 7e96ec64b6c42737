// Matrices that are read block by block, so that a large matrix is never completely in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

template <class T>
struct MatrixBlocks {
  std::int64_t rows = 0, cols = 0;
  /// Writes the block of out's shape that starts at (first_row, first_col). Called on several
  /// threads at the same time, and possibly several times for one block.
  std::function<void(std::int64_t first_row, std::int64_t first_col, MatrixView<T> out)> read;
};

/// Returns blocks that are decoded like decode(). `stored` must outlive the last call.
template <class T>
MatrixBlocks<T> decoded_blocks(const TensorMatrix& stored);

/// Result of a first pass over the blocks.
struct BlockExtent {
  struct Element {
    std::int64_t row, col;
  };
  double largest_magnitude = 0;            // valid if all are finite
  std::optional<Element> not_finite = {};  // first one by rows, then columns
};
template <class T>
BlockExtent extent_of(const MatrixBlocks<T>& blocks, const Compute& compute = {});

/// Returns the whole matrix in memory.
template <class T>
Matrix<T> assembled(const MatrixBlocks<T>& blocks, const Compute& compute = {});

/// A matrix A (n, k) that provides a few columns at a time, from a view or from blocks that are
/// read on demand.
template <class T>
class ColumnSource {
 public:
  explicit ColumnSource(MatrixView<const T> matrix);
  /// Uses the blocks' matrix, or its transpose if that is the wide one. Both arguments must outlive
  /// this object.
  ColumnSource(const MatrixBlocks<T>& blocks, const Compute& compute);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  /// Returns columns [first, first + count), valid until the next call. Columns of blocks are in
  /// the calling thread's memory.
  MatrixView<const T> columns(std::int64_t first, std::int64_t count) const;

 private:
  MatrixView<const T> matrix_;
  const MatrixBlocks<T>* blocks_ = nullptr;
  const Compute* compute_ = nullptr;
  std::int64_t rows_, cols_;
};

}  // namespace attnscope
