#include "attnscope/numerics/thin_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/numerics/gram.h"
#include "attnscope/numerics/lapack.h"
#include "attnscope/numerics/products.h"
#include "attnscope/numerics/singular_values.h"
#include "attnscope/numerics/small_matrices.h"
#include "attnscope/numerics/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

/// How far ‖left‖² ‖right‖² may exceed σ_1² before Gram matrices give way to QR: errors of σ² then
/// stay below about 1e-11 σ_1².
constexpr double kMostCancellation = 1e4;

/// Below this a pivot of the joint Gram matrix leaves too few digits (about 2^-53 / sqrt of it).
constexpr double kLeastPivot = 1e-9;

[[noreturn]] void throw_not_converged(std::int64_t order) {
  throw Error(ErrorKind::numerical, "matrix of order " + std::to_string(order),
              "no solver converged");
}

/// Row-major copy; columns go in strips, because a transposed view is read down its columns.
Matrix<double> packed(MatrixView<const double> matrix) {
  constexpr std::int64_t kStrip = 32;
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t first = 0; first < matrix.cols; first += kStrip) {
    const std::int64_t end = std::min(first + kStrip, matrix.cols);
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t col = first; col < end; ++col) out(row, col) = matrix(row, col);
    }
  }
  return out;
}

/// Eigenvalues of (X + Xᵀ) / 2, ascending.
std::vector<double> symmetrized_eigenvalues(const Matrix<double>& x, const Compute& compute) {
  const std::int64_t n = x.rows();
  std::vector<double> lower(static_cast<std::size_t>(n * n));
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      lower[static_cast<std::size_t>(col * n + row)] = (x(row, col) + x(col, row)) / 2;
    }
  }
  if (n == 0) return {};
  auto values = symmetric_eigenvalues(n, lower.data(), compute);
  if (!values) throw_not_converged(n);
  return std::move(*values);
}

/// Descending singular values from the eigenvalues of a Gram matrix, lower triangle, destroyed.
std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram,
                                         const Compute& compute) {
  auto values = symmetric_eigenvalues(n, gram.data(), compute);
  if (!values) throw_not_converged(n);
  std::reverse(values->begin(), values->end());
  for (double& value : *values) value = std::sqrt(std::max(value, 0.0));
  return std::move(*values);
}

/// Of magnitudes, over the rows of a symmetric matrix, lower triangle: no eigenvalue exceeds it.
double largest_row_sum(std::int64_t n, const std::vector<double>& lower) {
  std::vector<double> sums(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      const double magnitude = std::abs(lower[static_cast<std::size_t>(col * n + row)]);
      sums[static_cast<std::size_t>(row)] += magnitude;
      if (row != col) sums[static_cast<std::size_t>(col)] += magnitude;
    }
  }
  return *std::max_element(sums.begin(), sums.end());
}

/// M itself, (columns, columns).
Matrix<double> whole_product(const ThinFactor& left, const ThinFactor& right,
                             const Compute& compute) {
  return multiply_transposed(left.view().transposed(), right.view().transposed(), compute);
}

/// What row i of the left factor is multiplied by, and of the right one divided by, to make them
/// equally long: M stays as it is. 0 where either vanishes, and with it the pair's share of M.
std::vector<double> balancing_scales(const ThinFactor& left, const ThinFactor& right) {
  const std::int64_t r = left.rows.rows();
  std::vector<double> scales;
  for (std::int64_t row = 0; row < r; ++row) {
    const auto diagonal = static_cast<std::size_t>(row * r + row);
    const double of_left = left.gram.lower[diagonal], of_right = right.gram.lower[diagonal];
    scales.push_back(of_left > 0 && of_right > 0 ? std::sqrt(std::sqrt(of_right / of_left)) : 0);
  }
  return scales;
}

/// The Gram matrix of the balanced rows of left, then those of right: (2 r, 2 r), lower.
std::vector<double> joint_gram(const ThinFactor& left, const ThinFactor& right,
                               const Matrix<double>& head_space,
                               const std::vector<double>& scales) {
  const std::int64_t r = left.rows.rows(), n = 2 * r;
  std::vector<double> gram(static_cast<std::size_t>(n * n), 0.0);
  const auto inverse = [](double scale) { return scale > 0 ? 1 / scale : 0; };
  for (std::int64_t col = 0; col < r; ++col) {
    const double scale = scales[static_cast<std::size_t>(col)];
    for (std::int64_t row = 0; row < r; ++row) {
      const double other = scales[static_cast<std::size_t>(row)];
      const auto entry = static_cast<std::size_t>(col * r + row);
      if (row >= col) {
        gram[static_cast<std::size_t>(col * n + row)] = left.gram.lower[entry] * scale * other;
        gram[static_cast<std::size_t>((r + col) * n + r + row)] =
            right.gram.lower[entry] * inverse(scale) * inverse(other);
      }
      gram[static_cast<std::size_t>(col * n + r + row)] =
          head_space(row, col) * scale * inverse(other);
    }
  }
  return gram;
}

std::vector<double> cholesky_of(std::int64_t r, std::vector<double> lower, const Compute& compute) {
  compute.check_stop();
  if (!lapack::cholesky(r, lower.data())) lower.clear();
  return lower;
}

ThinGram thin_gram(std::vector<double> lower, std::int64_t r, bool with_cholesky,
                   const Compute& compute) {
  ThinGram gram{.squared_norm_bound = largest_row_sum(r, lower), .lower = std::move(lower)};
  if (with_cholesky) gram.cholesky = cholesky_of(r, gram.lower, compute);
  return gram;
}

/// A matrix whose eigenvalues are σ(M)², lower triangle: those of G_left G_right, and so of Lᵀ G L
/// with L Lᵀ one of them. Empty where neither has such an L.
std::vector<double> product_core(const ThinGram& left, const ThinGram& right, std::int64_t r,
                                 const Compute& compute) {
  if (left.lower.empty() || right.lower.empty()) return {};
  const bool by_right = !right.cholesky.empty();
  const std::vector<double> of_left =
      by_right ? std::vector<double>() : cholesky_of(r, left.lower, compute);
  const std::vector<double>& l = by_right ? right.cholesky : of_left;
  if (l.empty()) return {};
  std::vector<double> core = by_right ? left.lower : right.lower;
  compute.check_stop();
  lapack::multiply_by_cholesky(r, core.data(), l.data());
  return core;
}

/// Whether values from the core keep their digits: σ_1 beside ‖left‖ ‖right‖.
bool trusted(double largest, double norm_bound) {
  const double share = largest / norm_bound;
  return share * share * kMostCancellation >= 1;
}

bool trusted(double largest, const ThinGram& left, const ThinGram& right) {
  return trusted(largest, std::sqrt(left.squared_norm_bound * right.squared_norm_bound));
}

bool same_view(MatrixView<const double> a, MatrixView<const double> b) {
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride;
}

/// The Gram matrix of a view, scaled like a ThinFactor; kept while the next pair has the same view,
/// and cut out of that of a larger one whose rows it is, as heads are of the sum over heads.
class ScaledGram {
 public:
  ScaledGram(bool with_cholesky, const Compute& compute)
      : with_cholesky_(with_cholesky), compute_(compute) {}

  int exponent = 0;
  ThinGram gram;  // empty where the factor is zero, or has more rows than columns

  void become(MatrixView<const double> matrix) {
    if (same_view(of_, matrix)) return;
    of_ = matrix;
    if (cut_from_whole(matrix)) return;
    gram = {};
    exponent = 0;
    const double largest = largest_magnitude(matrix, compute_);
    if (largest == 0 || matrix.rows > matrix.cols) return;
    exponent = scale_exponent(largest);
    gram = thin_gram(gram_lower(matrix, std::ldexp(1.0, -exponent), compute_), matrix.rows,
                     with_cholesky_, compute_);
    if (matrix.rows <= whole_.rows) return;
    whole_ = matrix;
    whole_exponent_ = exponent;
    whole_lower_ = gram.lower;
  }

 private:
  bool cut_from_whole(MatrixView<const double> matrix) {
    // Where a head is so small beside the others that its squares might vanish, it is scaled alone.
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
    gram = thin_gram(std::move(lower), matrix.rows, with_cholesky_, compute_);
    return true;
  }

  bool with_cholesky_;
  const Compute& compute_;
  MatrixView<const double> of_, whole_;
  int whole_exponent_ = 0;
  std::vector<double> whole_lower_;
};

bool is_formed(const ThinPair& pair) {
  return worth_forming(pair.left.rows, std::max(pair.left.cols, pair.right.cols));
}

/// A product on its way to its singular values.
struct PreparedProduct {
  std::vector<double> core;    // empty where Gram matrices do not do, or M is formed
  std::vector<double> values;  // from the core, empty until it is solved
  double norm_bound = 0;
  int exponent = 0;
};

std::vector<PreparedProduct> prepare(std::span<const ThinPair> pairs, const Compute& compute) {
  std::vector<PreparedProduct> prepared(pairs.size());
  ScaledGram left(/*with_cholesky=*/false, compute), right(/*with_cholesky=*/true, compute);
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    const ThinPair& pair = pairs[index];
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

/// The values of all products of the least order, if it is small, together: a model's heads are of
/// one order, and the sum over them, if it is here, of a larger one.
void solve_small(std::span<const ThinPair> pairs, std::vector<PreparedProduct>& prepared,
                 const Compute& compute) {
  std::int64_t order = kLargestSmallOrder + 1;
  for (const ThinPair& pair : pairs) order = std::min(order, pair.left.rows);
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

/// M; nothing where its elements might overflow or vanish.
std::optional<Matrix<double>> formed_product(const ThinPair& pair, const Compute& compute) {
  constexpr double kMost = 1e100;
  for (const MatrixView<const double> factor : {pair.left, pair.right}) {
    const double largest = largest_magnitude(factor, compute);
    if (!(largest < kMost && largest > 1 / kMost)) return std::nullopt;
  }
  return multiply_transposed(pair.left.transposed(), pair.right.transposed(), compute);
}

SingularValues finish(const ThinPair& pair, PreparedProduct& product, const Compute& compute) {
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

ThinFactor make_thin_factor(MatrixView<const double> matrix, bool with_values,
                            const Compute& compute) {
  ThinFactor factor{.rows = packed(matrix)};
  const std::int64_t r = matrix.rows, count = r * matrix.cols;
  double* data = factor.rows.data();
  double largest = 0;
  for (std::int64_t at = 0; at < count; ++at) {
    if (!std::isfinite(data[at])) {
      factor.finite = false;
      return factor;
    }
    largest = std::max(largest, std::abs(data[at]));
  }
  if (largest == 0) {
    factor.zero = true;
    factor.singular_values.assign(static_cast<std::size_t>(std::min(r, matrix.cols)), 0.0);
    return factor;
  }
  std::frexp(largest, &factor.exponent);
  // In two steps: the inverse of the smallest magnitudes is no float64.
  const double half = std::ldexp(1.0, -factor.exponent / 2);
  const double rest = std::ldexp(1.0, -factor.exponent - -factor.exponent / 2);
  for (std::int64_t at = 0; at < count; ++at) data[at] = data[at] * half * rest;

  if (r > matrix.cols) {
    factor.singular_values = singular_values(factor.view(), compute).values;
    return factor;
  }
  factor.gram =
      thin_gram(gram_lower(factor.view(), 1, compute), r, /*with_cholesky=*/true, compute);
  if (with_values) {
    std::vector<double> copy = factor.gram.lower;
    factor.singular_values = roots_of_eigenvalues(r, copy, compute);
  }
  return factor;
}

std::vector<double> thin_product_singular_values(const ThinFactor& left, const ThinFactor& right,
                                                 const Compute& compute) {
  const std::int64_t r = left.rows.rows();
  if (left.is_zero() || right.is_zero()) {
    const std::int64_t rank = std::min({r, left.rows.cols(), right.rows.cols()});
    return std::vector<double>(static_cast<std::size_t>(rank), 0.0);
  }
  std::vector<double> core = product_core(left.gram, right.gram, r, compute);
  if (!core.empty()) {
    std::vector<double> values = roots_of_eigenvalues(r, core, compute);
    if (trusted(values.front(), left.gram, right.gram)) return values;
  }
  return product_singular_values(left.view(), right.view(), compute).values;
}

std::vector<SingularResult> thin_products_singular_values(std::span<const ThinPair> pairs,
                                                          const Compute& compute) {
  std::vector<PreparedProduct> prepared = prepare(pairs, compute);
  solve_small(pairs, prepared, compute);
  std::vector<SingularResult> out;
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    out.push_back(singular_result([&] { return finish(pairs[index], prepared[index], compute); }));
  }
  return out;
}

Matrix<double> head_space_product(const ThinFactor& left, const ThinFactor& right,
                                  const Compute& compute) {
  return multiply_transposed(right.view(), left.view(), compute);
}

std::vector<double> symmetric_part_eigenvalues(const ThinFactor& left, const ThinFactor& right,
                                               const Matrix<double>& head_space,
                                               const Compute& compute) {
  const std::int64_t r = left.rows.rows(), columns = left.rows.cols();
  if (2 * r >= columns)
    return symmetrized_eigenvalues(whole_product(left, right, compute), compute);

  // With F = [left; right] = L Qᵀ, Q orthonormal, the symmetric part is Q (L_leftᵀ L_right + …) / 2
  // Qᵀ; such an L comes from the Gram matrix of F.
  std::vector<double> gram = joint_gram(left, right, head_space, balancing_scales(left, right));
  compute.check_stop();
  const lapack::PivotedCholesky factor = lapack::pivoted_cholesky(2 * r, gram.data());
  if (factor.last_pivot >= kLeastPivot) {
    const MatrixView<const double> l = factor.l.view();
    return symmetrized_eigenvalues(multiply_transposed(l.row_block(0, r).transposed(),
                                                       l.row_block(r, r).transposed(), compute),
                                   compute);
  }
  const Matrix<double> both = stacked_rows(left.view(), right.view());
  const Matrix<double> r_factor = qr_r_factor(both.view().transposed(), compute);
  return symmetrized_eigenvalues(multiply_transposed(r_factor.view().col_block(0, r),
                                                     r_factor.view().col_block(r, r), compute),
                                 compute);
}

std::vector<std::complex<double>> thin_product_eigenvalues(const ThinFactor& left,
                                                           const ThinFactor& right,
                                                           const Matrix<double>& head_space,
                                                           const Compute& compute) {
  const bool whole = left.rows.cols() < left.rows.rows();
  Matrix<double> matrix = whole ? whole_product(left, right, compute) : packed(head_space.view());
  compute.check_stop();
  auto values = lapack::eigenvalues(matrix.rows(), matrix.data());
  if (!values) throw_not_converged(matrix.rows());
  return std::move(*values);
}

}  // namespace attnscope
