#include "attnscope/numerics/products/factored_product_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/products/product_factor.h"
#include "attnscope/numerics/svd/batched_singular_values.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

// Gram matrices of many views, one after the other.

/// The Gram matrix of a view, scaled like a ProductFactor. It is reused if the next pair has the
/// same view, or some of its rows: heads are rows of the sum over heads.
class ScaledGram {
 public:
  ScaledGram(bool with_cholesky, const Compute& compute)
      : with_cholesky_(with_cholesky), compute_(compute) {}

  int exponent = 0;
  FactorGram gram;  // empty if the factor is zero or has more rows than columns

  void become(MatrixView<const double> matrix);

 private:
  bool cut_from_whole(MatrixView<const double> matrix);

  bool with_cholesky_;
  const Compute& compute_;
  MatrixView<const double> of_, whole_;
  int whole_exponent_ = 0;
  std::vector<double> whole_lower_;
};

bool same_view(MatrixView<const double> a, MatrixView<const double> b) {
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride;
}

void ScaledGram::become(MatrixView<const double> matrix) {
  if (same_view(of_, matrix)) return;
  of_ = matrix;
  if (cut_from_whole(matrix)) return;
  gram = {};
  exponent = 0;
  const double largest = largest_magnitude(matrix, compute_);
  if (largest == 0 || matrix.rows > matrix.cols) return;
  exponent = scale_exponent(largest);
  gram = factor_gram(gram_lower(matrix, std::ldexp(1.0, -exponent), compute_), matrix.rows,
                     with_cholesky_, compute_);
  if (matrix.rows <= whole_.rows) return;
  whole_ = matrix;
  whole_exponent_ = exponent;
  whole_lower_ = gram.lower;
}

bool ScaledGram::cut_from_whole(MatrixView<const double> matrix) {
  // A head so small compared with the others that its squares might underflow is scaled separately.
  constexpr double kLeastSquare = 1e-100;
  if (whole_.row_stride <= 0 || matrix.rows >= whole_.rows) return false;
  const std::int64_t offset = matrix.data - whole_.data, first = offset / whole_.row_stride;
  const bool inside = offset >= 0 && first + matrix.rows <= whole_.rows &&
                      same_view(whole_.row_block(first, matrix.rows), matrix);
  if (!inside) return false;
  std::vector<double> lower(static_cast<std::size_t>(matrix.rows * matrix.rows), 0.0);
  double largest = 0;
  for (std::int64_t col = 0; col < matrix.rows; ++col) {
    const auto from = whole_lower_.begin() + (first + col) * whole_.rows + first;
    std::copy(from + col, from + matrix.rows, lower.begin() + col * matrix.rows + col);
    largest = std::max(largest, from[col]);
  }
  if (largest < kLeastSquare) return false;
  exponent = whole_exponent_;
  gram = factor_gram(std::move(lower), matrix.rows, with_cholesky_, compute_);
  return true;
}

bool is_formed(const FactorPair& pair) {
  return worth_forming(pair.left.rows, std::max(pair.left.cols, pair.right.cols));
}

/// Intermediate results of a product before its singular values.
struct PreparedProduct {
  std::vector<double> core;    // empty if Gram matrices are too inaccurate or M is formed
  std::vector<double> values;  // from the core; empty until solved
  double norm_bound = 0;
  int exponent = 0;
};

std::vector<PreparedProduct> prepare_products(std::span<const FactorPair> pairs,
                                              const Compute& compute) {
  std::vector<PreparedProduct> prepared(pairs.size());
  ScaledGram left(/*with_cholesky=*/false, compute), right(/*with_cholesky=*/true, compute);
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    const FactorPair& pair = pairs[index];
    if (is_formed(pair)) continue;
    compute.check_stop();
    PreparedProduct& product = prepared[index];
    left.become(pair.left);
    right.become(pair.right);
    product.exponent = left.exponent + right.exponent;
    product.core = product_core(left.gram, right.gram, pair.left.rows, compute);
    product.norm_bound = std::sqrt(left.gram.squared_norm_bound * right.gram.squared_norm_bound);
  }
  return prepared;
}

/// Computes the values of all products of the smallest order together, if it is small. The heads of
/// a model have one order, and the sum over them a larger one.
void solve_small(std::span<const FactorPair> pairs, std::vector<PreparedProduct>& prepared,
                 const Compute& compute) {
  std::int64_t order = kLargestSmallOrder + 1;
  for (const FactorPair& pair : pairs) order = std::min(order, pair.left.rows);
  if (order > kLargestSmallOrder) return;
  std::vector<const double*> cores;
  std::vector<PreparedProduct*> owners;
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    if (pairs[index].left.rows != order || prepared[index].core.empty()) continue;
    cores.push_back(prepared[index].core.data());
    owners.push_back(&prepared[index]);
  }
  std::vector<double> values(cores.size() * static_cast<std::size_t>(order));
  small_gram_singular_values(cores, order, values.data(), compute);
  auto own = values.begin();
  for (PreparedProduct* owner : owners) {
    owner->values.assign(own, own + order);
    own += order;
  }
}

/// Returns M. Empty if its elements might overflow or underflow.
std::optional<Matrix<double>> formed_product(const FactorPair& pair, const Compute& compute) {
  constexpr double kMax = 1e100;
  for (const MatrixView<const double> factor : {pair.left, pair.right}) {
    const double largest = largest_magnitude(factor, compute);
    if (!(largest < kMax && largest > 1 / kMax)) return std::nullopt;
  }
  return multiply_transposed(pair.left.transposed(), pair.right.transposed(), compute);
}

SingularValues finish(const FactorPair& pair, PreparedProduct& product, const Compute& compute) {
  std::vector<double>& values = product.values;
  if (values.empty() && !product.core.empty()) {
    values = roots_of_eigenvalues(pair.left.rows, product.core, compute);
  }
  if (values.empty() || !trusted(values.front(), product.norm_bound)) {
    if (is_formed(pair)) {
      if (const auto formed = formed_product(pair, compute))
        return singular_values(formed->view(), compute);
    }
    return product_singular_values(pair.left, pair.right, compute);
  }
  for (double& value : values) value = std::ldexp(value, product.exponent);
  if (std::isinf(values.front())) throw norm_overflows(pair.left.cols, pair.right.cols);
  return {std::move(values)};
}

}  // namespace

bool worth_forming(std::int64_t inner, std::int64_t width) {
  return inner > kLargestSmallOrder && 4 * inner >= 3 * width;
}

std::vector<SingularResult> factored_products_singular_values(std::span<const FactorPair> pairs,
                                                              const Compute& compute) {
  std::vector<PreparedProduct> prepared = prepare_products(pairs, compute);
  solve_small(pairs, prepared, compute);
  std::vector<SingularResult> out;
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    out.push_back(singular_result([&] { return finish(pairs[index], prepared[index], compute); }));
  }
  return out;
}

}  // namespace attnscope
