// Dense matrices in memory: a view that does not own its elements, and an owner.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>

namespace attnscope {

/// A view of a (rows, cols) matrix. It does not own its elements. Strides are in elements. Valid as
/// long as the underlying memory is.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;

  T& operator()(std::int64_t row, std::int64_t col) const {
    return data[row * row_stride + col * col_stride];
  }

  MatrixView block(std::int64_t first_row, std::int64_t row_count, std::int64_t first_col,
                   std::int64_t col_count) const {
    return {data + first_row * row_stride + first_col * col_stride, row_count, col_count,
            row_stride, col_stride};
  }
  MatrixView row_block(std::int64_t first, std::int64_t count) const {
    return block(first, count, 0, cols);
  }
  MatrixView col_block(std::int64_t first, std::int64_t count) const {
    return block(0, rows, first, count);
  }
  MatrixView transposed() const { return {data, cols, rows, col_stride, row_stride}; }

  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_stride, col_stride};
  }
};

/// Owns a row-major (rows, cols) matrix. The elements start uninitialized; the caller fills them.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t cols)
      : rows_(rows),
        cols_(cols),
        data_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * cols))) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator()(std::int64_t row, std::int64_t col) { return data_[offset(row, col)]; }
  const T& operator()(std::int64_t row, std::int64_t col) const { return data_[offset(row, col)]; }

  MatrixView<T> view() { return {data_.get(), rows_, cols_, cols_, 1}; }
  MatrixView<const T> view() const { return {data_.get(), rows_, cols_, cols_, 1}; }

 private:
  std::size_t offset(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(row * cols_ + col);
  }

  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::unique_ptr<T[]> data_;
};

/// Returns the rows of `upper` followed by those of `lower`. Both have the same number of columns.
template <class T>
Matrix<T> stacked_rows(MatrixView<const T> upper, MatrixView<const T> lower) {
  Matrix<T> out(upper.rows + lower.rows, upper.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const bool first = row < upper.rows;
    const MatrixView<const T>& from = first ? upper : lower;
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      out(row, col) = from(first ? row : row - upper.rows, col);
    }
  }
  return out;
}

/// A decoded weight matrix: float64 if the file stores float64, float32 for every other dtype. Both
/// are exact.
using WeightMatrix = std::variant<Matrix<float>, Matrix<double>>;

}  // namespace attnscope
