#include "attnscope/numerics/svd/singular_vectors.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// A thin factor (r, D) = U S Vᵀ: `root` (r, r) is S Uᵀ, and `basis` (r, D) has the rows of Vᵀ.
struct Factored {
  Matrix<double> root, basis;
};

lapack::SingularTriples triples_of(MatrixView<const double> matrix) {
  std::vector<double> columns(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      columns[static_cast<std::size_t>(col * matrix.rows + row)] = matrix(row, col);
    }
  }
  auto found = lapack::singular_triples(matrix.rows, matrix.cols, columns.data());
  if (found) return *std::move(found);
  throw Error(ErrorKind::numerical, {.problem = "LAPACK did not converge on singular vectors"});
}

Factored factored(MatrixView<const double> matrix) {
  const lapack::SingularTriples found = triples_of(matrix);
  const std::int64_t rank = std::ssize(found.values);
  Factored out{.root = Matrix<double>(rank, matrix.rows),
               .basis = Matrix<double>(rank, matrix.cols)};
  for (std::int64_t at = 0; at < rank; ++at) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      out.root(at, row) = found.values[static_cast<std::size_t>(at)] *
                          found.u[static_cast<std::size_t>(at * matrix.rows + row)];
    }
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out.basis(at, col) = found.vt[static_cast<std::size_t>(col * rank + at)];
    }
  }
  return out;
}

/// Returns coefficients (count, r) · basis (r, D).
Matrix<double> combined(const Matrix<double>& coefficients, const Matrix<double>& basis,
                        const Compute& compute) {
  return multiply_transposed(coefficients.view(), basis.view().transposed(), compute);
}

}  // namespace

SingularDirections product_directions(MatrixView<const double> left, MatrixView<const double> right,
                                      std::int64_t count, const Compute& compute) {
  const Factored a = factored(left), b = factored(right);
  // leftᵀ right = A.basisᵀ (A.root B.rootᵀ) B.basis
  const Matrix<double> middle = multiply_transposed(a.root.view(), b.root.view(), compute);
  const lapack::SingularTriples found = triples_of(middle.view());
  const std::int64_t rank = std::ssize(found.values), kept = std::min(count, rank);
  Matrix<double> of_left(kept, middle.rows()), of_right(kept, middle.cols());
  for (std::int64_t at = 0; at < kept; ++at) {
    for (std::int64_t row = 0; row < middle.rows(); ++row) {
      of_left(at, row) = found.u[static_cast<std::size_t>(at * middle.rows() + row)];
    }
    for (std::int64_t col = 0; col < middle.cols(); ++col) {
      of_right(at, col) = found.vt[static_cast<std::size_t>(col * rank + at)];
    }
  }
  return {.values = found.values,
          .left = combined(of_left, a.basis, compute),
          .right = combined(of_right, b.basis, compute)};
}

SingularDirections row_directions(MatrixView<const double> matrix, std::int64_t count,
                                  const Compute& compute) {
  // matrix = Q R has the singular values and right vectors of R.
  const bool is_tall = matrix.rows > matrix.cols;
  const Matrix<double> r = is_tall ? qr_r_factor(matrix, compute) : Matrix<double>();
  const lapack::SingularTriples found = triples_of(is_tall ? r.view() : matrix);
  const std::int64_t rank = std::ssize(found.values), kept = std::min(count, rank);
  SingularDirections out{.values = found.values, .right = Matrix<double>(kept, matrix.cols)};
  for (std::int64_t at = 0; at < kept; ++at) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out.right(at, col) = found.vt[static_cast<std::size_t>(col * rank + at)];
    }
  }
  return out;
}

}  // namespace attnscope
