#include "attnscope/adapters/adapter_initialization.h"

#include <cmath>
#include <functional>
#include <mutex>
#include <utility>

#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {
namespace {

/// left (rows, r) times right (r, cols).
struct Factors {
  Matrix<double> left, right;
};

Matrix<double> copy_of(MatrixView<const double> view) {
  Matrix<double> out(view.rows, view.cols);
  for (std::int64_t row = 0; row < view.rows; ++row) {
    for (std::int64_t col = 0; col < view.cols; ++col) out(row, col) = view(row, col);
  }
  return out;
}

Factors principal_part(const Matrix<double>& weight, std::int64_t rank) {
  const Directions own = directions_of(weight.view());
  // The projection onto the singular vectors of the shorter side, which are orthonormal.
  if (weight.rows() <= weight.cols()) {
    const auto kept = own.left.view().row_block(0, rank);
    return {copy_of(kept.transposed()), multiply_transposed(kept, weight.view().transposed(), {})};
  }
  const auto kept = own.right.view().row_block(0, rank);
  return {multiply_transposed(weight.view(), kept, {}), copy_of(kept)};
}

Factors orthonormal_part(const Matrix<double>& weight, std::int64_t rank, double scale,
                         const ErrorParts& dependent) {
  const std::int64_t rows = weight.rows(), cols = weight.cols();
  Matrix<double> columns(rank, rows);  // row i is the i-th column of Q
  const auto dot = [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t at = 0; at < rows; ++at) sum += columns(i, at) * columns(j, at);
    return sum;
  };
  for (std::int64_t i = 0; i < rank; ++i) {
    for (std::int64_t at = 0; at < rows; ++at) columns(i, at) = weight(at, i);
    const double before = std::sqrt(dot(i, i));
    for (int pass = 0; pass < 2; ++pass) {  // the second pass removes rounding errors of the first
      for (std::int64_t j = 0; j < i; ++j) {
        const double share = dot(i, j);
        for (std::int64_t at = 0; at < rows; ++at) columns(i, at) -= share * columns(j, at);
      }
    }
    const double length = std::sqrt(dot(i, i));
    constexpr double kDependent = 1e-6;  // linearly dependent in float32, in which PEFT decomposes
    if (!(length > kDependent * before)) throw Error(ErrorKind::format, dependent);
    for (std::int64_t at = 0; at < rows; ++at) columns(i, at) /= length;
  }
  Factors out{copy_of(std::as_const(columns).view().transposed()), Matrix<double>(rank, cols)};
  for (std::int64_t col = 0; col < cols; ++col) {
    for (std::int64_t i = 0; i < rank; ++i) {
      double sum = 0;
      for (std::int64_t at = 0; at < rows; ++at) sum += columns(i, at) * weight(at, col);
      out.right(i, col) = scale * sum;
    }
  }
  return out;
}

class MatrixWithoutPart : public MergedMatrix {
 public:
  using Decompose = std::function<Factors(const Matrix<double>&)>;

  MatrixWithoutPart(MergedMatrixPtr base, Decompose decompose)
      : MergedMatrix(base->rows(), base->cols()),
        base_(std::move(base)),
        decompose_(std::move(decompose)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    std::call_once(decomposed_, [&] { part_ = decompose_(read_all(*base_)); });
    base_->read(first_row, first_col, out);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t at = 0; at < part_.right.rows(); ++at) {
        const double factor = part_.left(first_row + row, at);
        const double* line = &part_.right(at, first_col);
        for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) -= factor * line[col];
      }
    }
  }

  void add_reads(const MatrixBlock&, ByteRanges& out) const override { add_all_reads(*base_, out); }

 private:
  MergedMatrixPtr base_;
  Decompose decompose_;
  mutable std::once_flag decomposed_;
  mutable Factors part_;
};

}  // namespace

MergedMatrixPtr without_principal_part(MergedMatrixPtr base, std::int64_t rank) {
  return std::make_shared<MatrixWithoutPart>(std::move(base), [rank](const Matrix<double>& weight) {
    return principal_part(weight, rank);
  });
}

MergedMatrixPtr without_orthonormal_part(MergedMatrixPtr base, std::int64_t rank, double scale,
                                         ErrorParts dependent) {
  return std::make_shared<MatrixWithoutPart>(
      std::move(base), [rank, scale, dependent](const Matrix<double>& weight) {
        return orthonormal_part(weight, rank, scale, dependent);
      });
}

}  // namespace attnscope
