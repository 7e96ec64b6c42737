#include "attnscope/numerics/svd/matrix_blocks.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/products/kernels/kernels.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

/// Minimum number of elements per call of `read`: small enough to stay in the cache until they are
/// processed.
constexpr std::int64_t kPartElements = std::int64_t{1} << 18;

/// Reads a block in parts on the team. Calls visit(first_row, part) for each part after it has been
/// read.
template <class T, class Visit>
void read_in_parts(const MatrixBlocks<T>& blocks, std::int64_t first_row, std::int64_t first_col,
                   MatrixView<T> out, const Compute& compute, const Visit& visit) {
  const std::int64_t step =
      std::max<std::int64_t>(1, kPartElements / std::max<std::int64_t>(1, out.cols));
  run_parts(compute, static_cast<std::size_t>((out.rows + step - 1) / step), [&](std::size_t part) {
    const std::int64_t start = static_cast<std::int64_t>(part) * step;
    const MatrixView<T> rows = out.row_block(start, std::min(step, out.rows - start));
    blocks.read(first_row + start, first_col, rows);
    visit(part, first_row + start, rows);
  });
}

constexpr auto kNothing = [](std::size_t, std::int64_t, const auto&) {};

/// Returns memory for `count` slices of the longer dimension, from `first` on, and sets their
/// start.
template <class T>
MatrixView<T> block_in(AlignedBuffer<T>& memory, const MatrixBlocks<T>& blocks,
                       std::int64_t count) {
  const bool tall = blocks.rows > blocks.cols;
  const std::int64_t rows = tall ? count : blocks.rows, cols = tall ? blocks.cols : count;
  return {memory.reserve(static_cast<std::size_t>(rows * cols)), rows, cols, cols, 1};
}

/// Scratch memory of the thread; it does not affect results.
template <class T>
AlignedBuffer<T>& block_memory() {
  thread_local AlignedBuffer<T> memory;
  return memory;
}

template <class T>
std::optional<BlockExtent::Element> first_not_finite(MatrixView<const T> matrix,
                                                     std::int64_t first_row,
                                                     std::int64_t first_col) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::span line(&matrix(row, 0), static_cast<std::size_t>(matrix.cols));
    if (all_finite(line)) continue;
    std::int64_t col = 0;
    while (std::isfinite(matrix(row, col))) ++col;
    return BlockExtent::Element{first_row + row, first_col + col};
  }
  return std::nullopt;
}

bool before(const BlockExtent::Element& a, const BlockExtent::Element& b) {
  return a.row != b.row ? a.row < b.row : a.col < b.col;
}

}  // namespace

template <class T>
MatrixBlocks<T> decoded_blocks(const TensorMatrix& stored) {
  return {stored.rows, stored.cols,
          [&stored](std::int64_t first_row, std::int64_t first_col, MatrixView<T> out) {
            decode_block(stored, first_row, first_col, out);
          }};
}

template <class T>
BlockExtent extent_of(const MatrixBlocks<T>& blocks, const Compute& compute) {
  const bool tall = blocks.rows > blocks.cols;
  const std::int64_t longer = std::max(blocks.rows, blocks.cols);
  BlockExtent out;
  if (std::min(blocks.rows, blocks.cols) == 0) return out;
  constexpr auto kDepth = static_cast<std::int64_t>(kernels::kGramDepth);
  for (std::int64_t first = 0; first < longer; first += kDepth) {
    const auto block = block_in(block_memory<T>(), blocks, std::min(kDepth, longer - first));
    const std::int64_t first_row = tall ? first : 0, first_col = tall ? 0 : first;
    std::vector<BlockExtent> parts(static_cast<std::size_t>(block.rows));
    read_in_parts(blocks, first_row, first_col, block, compute,
                  [&](std::size_t part, std::int64_t row, const MatrixView<T>& lines) {
                    parts[part].not_finite = first_not_finite<T>(lines, row, first_col);
                    if (!parts[part].not_finite) {
                      parts[part].largest_magnitude =
                          largest_magnitude(MatrixView<const T>(lines), compute);
                    }
                  });
    for (const BlockExtent& part : parts) {
      out.largest_magnitude = std::max(out.largest_magnitude, part.largest_magnitude);
      if (part.not_finite && (!out.not_finite || before(*part.not_finite, *out.not_finite))) {
        out.not_finite = part.not_finite;
      }
    }
  }
  return out;
}

template <class T>
Matrix<T> assembled(const MatrixBlocks<T>& blocks, const Compute& compute) {
  Matrix<T> out(blocks.rows, blocks.cols);
  read_in_parts(blocks, 0, 0, out.view(), compute, kNothing);
  return out;
}

template <class T>
ColumnSource<T>::ColumnSource(MatrixView<const T> matrix)
    : matrix_(matrix), rows_(matrix.rows), cols_(matrix.cols) {}

template <class T>
ColumnSource<T>::ColumnSource(const MatrixBlocks<T>& blocks, const Compute& compute)
    : blocks_(&blocks),
      compute_(&compute),
      rows_(std::min(blocks.rows, blocks.cols)),
      cols_(std::max(blocks.rows, blocks.cols)) {}

template <class T>
MatrixView<const T> ColumnSource<T>::columns(std::int64_t first, std::int64_t count) const {
  if (blocks_ == nullptr) return matrix_.col_block(first, count);
  const bool tall = blocks_->rows > blocks_->cols;
  const auto block = block_in(block_memory<T>(), *blocks_, count);
  read_in_parts(*blocks_, tall ? first : 0, tall ? 0 : first, block, *compute_, kNothing);
  return tall ? block.transposed() : block;
}

template MatrixBlocks<float> decoded_blocks(const TensorMatrix&);
template MatrixBlocks<double> decoded_blocks(const TensorMatrix&);
template BlockExtent extent_of(const MatrixBlocks<float>&, const Compute&);
template BlockExtent extent_of(const MatrixBlocks<double>&, const Compute&);
template Matrix<float> assembled(const MatrixBlocks<float>&, const Compute&);
template Matrix<double> assembled(const MatrixBlocks<double>&, const Compute&);
template class ColumnSource<float>;
template class ColumnSource<double>;

}  // namespace attnscope
