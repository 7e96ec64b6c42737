// Matrices that are computed from a base and an adapter when they are read, block by block, in
// float64. Every function returns a new matrix on top of another one, so that a weight is a chain
// of changes. Matrices are (outputs, inputs) unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

struct MatrixBlock {
  std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;
};

using ByteRanges = std::vector<std::span<const std::byte>>;

/// The tensors of the files must outlive it. Thread-safe.
class MergedMatrix {
 public:
  MergedMatrix(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {}
  virtual ~MergedMatrix() = default;
  MergedMatrix(const MergedMatrix&) = delete;
  MergedMatrix& operator=(const MergedMatrix&) = delete;

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  /// Computes the block with the shape of `out` that starts at (first_row, first_col). `out` has
  /// contiguous rows. The bytes of add_reads() must be readable.
  virtual void read(std::int64_t first_row, std::int64_t first_col,
                    MatrixView<double> out) const = 0;

  /// Adds the byte ranges of the files that read() of the block needs.
  virtual void add_reads(const MatrixBlock& block, ByteRanges& out) const = 0;

 private:
  std::int64_t rows_, cols_;
};

using MergedMatrixPtr = std::shared_ptr<const MergedMatrix>;

/// The whole matrix. Its bytes must be readable.
Matrix<double> read_all(const MergedMatrix& matrix);
void add_all_reads(const MergedMatrix& matrix, ByteRanges& out);

/// A matrix of the files. `matrix` is one block of rows.
MergedMatrixPtr stored_matrix(const TensorMatrix& matrix);

/// A vector of the files as (count, 1). All axes of the tensor but one have size 1.
TensorMatrix as_column(const TensorView& vector);

MergedMatrixPtr transposed(MergedMatrixPtr matrix);

/// The rows of all parts, which have equal numbers of columns.
MergedMatrixPtr stacked(std::vector<MergedMatrixPtr> parts);

/// A tensor with these values. `shape` has as many elements as the matrix, with its columns as last
/// axis. `parameters`: see ValueSource.
TensorView merged_tensor(MergedMatrixPtr matrix, const TensorView& base, Shape shape,
                         std::string parameters);

// Changes of a matrix.

/// scale · diag(outputs) B diag(middle) A.
struct LowRankProduct {
  TensorMatrix b, a;                                      // (rows, r), (r, cols)
  std::optional<TensorMatrix> middle = {}, outputs = {};  // (r, 1), (rows, 1); none: ones
  double scale = 1;
};

/// LoRA, AdaLoRA, VeRA: the sum with the product.
MergedMatrixPtr with_low_rank(MergedMatrixPtr base, LowRankProduct product);

/// LoHa: the sum with the elementwise product of both.
MergedMatrixPtr with_hadamard(MergedMatrixPtr base, LowRankProduct one, LowRankProduct other);

/// One factor of a Kronecker product: a matrix, or a product of two.
struct KroneckerFactor {
  TensorMatrix left;
  std::optional<TensorMatrix> right = {};

  std::int64_t rows() const { return left.rows; }
  std::int64_t cols() const { return right ? right->cols : left.cols; }
};

/// LoKr: the sum with scale · outer ⊗ inner.
MergedMatrixPtr with_kronecker(MergedMatrixPtr base, KroneckerFactor outer, KroneckerFactor inner,
                               double scale);

/// The sum with scale · other, of the same shape.
MergedMatrixPtr with_sum(MergedMatrixPtr base, TensorMatrix other, double scale);

/// IA3: each row is multiplied by an element of `factors` (rows, 1).
MergedMatrixPtr with_scaled_rows(MergedMatrixPtr base, TensorMatrix factors);

/// DoRA: each row gets the norm in `norms` (rows, 1).
MergedMatrixPtr with_row_norms(MergedMatrixPtr base, TensorMatrix norms);

/// Some rows are replaced by those of `values`, (indices, cols).
MergedMatrixPtr with_rows(MergedMatrixPtr base, const std::vector<std::int64_t>& indices,
                          TensorMatrix values);

}  // namespace attnscope
