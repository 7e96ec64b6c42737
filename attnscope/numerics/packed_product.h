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

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  friend Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                            const Compute& compute);

  std::int64_t rows_ = 0, cols_ = 0;
  AlignedBuffer<double> panels_;
  Matrix<double> plain_;
};

/// a (m, k) times bᵀ, b (n, k): (m, n), row-major. A row of the product has the same digits
/// whatever other rows `a` has. Both were packed for the kernels of `compute`.
Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute = {});

}  // namespace attnscope
