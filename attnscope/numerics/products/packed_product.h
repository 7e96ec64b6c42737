// A Bᵀ in float64, for matrices that are packed once and used in several products.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// A finite matrix (rows, cols), laid out for products: in panels for the hand-written kernels,
/// row-major if the CPU has none. Takes slightly more memory than the matrix.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(MatrixView<const double> matrix, const Compute& compute = {});
  /// Set every row by set_rows() before using it in a product.
  PackedMatrix(std::int64_t rows, std::int64_t cols, const Compute& compute);

  /// Packs another matrix, reusing the memory if it is large enough.
  void assign(MatrixView<const double> matrix, const Compute& compute);

  /// Parts of a matrix start at multiples of this row count.
  static constexpr std::int64_t kRowStep = 24;
  /// Sets rows from `first` on: a multiple of kRowStep rows, or all up to the last. Several threads
  /// may set different rows at the same time.
  void set_rows(std::int64_t first, MatrixView<const double> rows, const Compute& compute);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  friend void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first,
                                       const PackedMatrix& b, MatrixView<double> out,
                                       const Compute& compute);

  void reserve(std::int64_t rows, std::int64_t cols, const Compute& compute);
  std::size_t packed_size() const;  // of panels_

  std::int64_t rows_ = 0, cols_ = 0;
  AlignedBuffer<double> panels_;
  Matrix<double> plain_;
};

/// a (m, k) times bᵀ, b (n, k): (m, n), row-major. A row's digits do not depend on other rows of
/// `a`. Both must have been packed for the kernels of `compute`.
Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute = {});

/// Rows [first, first + out.rows) of that product into `out`, which has contiguous rows; `first` is
/// a multiple of kRowStep.
void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first, const PackedMatrix& b,
                              MatrixView<double> out, const Compute& compute = {});

}  // namespace attnscope
