// A Bᵀ in float64, of matrices that take part in several products and are laid out for them once.
#pragma once

#include <cstdint>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// A finite matrix (rows, cols) as products want it: in panels for the hand-written kernels; row by
/// row where the CPU has none. Somewhat more memory than the matrix.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(MatrixView<const double> matrix, const Compute& compute = {});
  /// Every row is set by set_rows() before it takes part in a product.
  PackedMatrix(std::int64_t rows, std::int64_t cols, const Compute& compute);

  /// Takes another matrix, in the memory of the last where that is large enough.
  void assign(MatrixView<const double> matrix, const Compute& compute);

  /// Parts of a matrix start at multiples of this many rows.
  static constexpr std::int64_t kRowStep = 24;
  /// Rows from `first` on; as many as a multiple of kRowStep, or to the last. Threads may set
  /// different rows at once.
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

/// a (m, k) times bᵀ, b (n, k): (m, n), row-major. A row of the product has the same digits
/// whatever other rows `a` has. Both were packed for the kernels of `compute`.
Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute = {});

/// Rows [first, first + out.rows) of that product into `out`, whose rows lie together; `first` is a
/// multiple of kRowStep.
void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first, const PackedMatrix& b,
                              MatrixView<double> out, const Compute& compute = {});

}  // namespace attnscope
