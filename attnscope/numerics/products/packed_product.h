// Products A Bᵀ in float64, for matrices that are packed once and used in several products.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// A finite matrix (rows, cols), laid out for products: in panels for the hand-written kernels, or
/// row-major if the CPU has none. Takes slightly more memory than the matrix.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(MatrixView<const double> matrix, const Compute& compute = {});
  /// Allocates the matrix. Every row must be set by set_rows() before it is used in a product.
  PackedMatrix(std::int64_t rows, std::int64_t cols, const Compute& compute);

  /// Packs another matrix, reusing the memory if it is large enough.
  void assign(MatrixView<const double> matrix, const Compute& compute);

  /// Parts of a matrix start at multiples of this row count.
  static constexpr std::int64_t kRowStep = 24;
  /// Sets rows from `first` on. Their number must be a multiple of kRowStep, unless they include
  /// the last row. Several threads may set different rows at the same time.
  void set_rows(std::int64_t first, MatrixView<const double> rows, const Compute& compute);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  friend void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first,
                                       const PackedMatrix& b, MatrixView<double> out,
                                       const Compute& compute);

  void reserve(std::int64_t rows, std::int64_t cols, const Compute& compute);
  std::size_t packed_size() const;  // elements in panels_

  std::int64_t rows_ = 0, cols_ = 0;
  AlignedBuffer<double> panels_;
  Matrix<double> plain_;
};

/// Returns a (m, k) · bᵀ, with b (n, k): (m, n), row-major. A row's digits do not depend on other
/// rows of `a`. Both must be packed for the kernels of `compute`.
Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute = {});

/// Computes rows [first, first + out.rows) of this product in `out`, which has contiguous rows.
/// `first` must be a multiple of kRowStep.
void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first, const PackedMatrix& b,
                              MatrixView<double> out, const Compute& compute = {});

}  // namespace attnscope
