// Products M = leftᵀ · right of two thin factors, both (r, columns), from matrices of order r and
// 2 r: nothing of the size of M is formed or decomposed while r is small beside it.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/singular_values.h"

namespace attnscope {

/// What the singular values of a product need of a factor (r, columns), r ≤ columns.
struct ThinGram {
  double squared_norm_bound = 0;  // at least σ_1²
  std::vector<double> lower;      // (r, r), lower triangle, column-major
  std::vector<double> cholesky;   // of the same; empty where it has none
};

/// One factor, with what is computed from it once for every product that it is in. Its numbers are
/// those of the given matrix times 2^-exponent, so that squares neither overflow nor vanish.
struct ThinFactor {
  Matrix<double> rows;  // (r, columns), largest magnitude in [1/2, 1), or zero
  int exponent = 0;
  bool finite = true;  // else nothing below is set
  bool zero = false;
  std::vector<double> singular_values;  // (min(r, columns),) descending; empty where not asked for
  ThinGram gram;                        // empty where r > columns

  MatrixView<const double> view() const { return rows.view(); }
  bool is_zero() const { return zero; }
};

/// Throws Error(numerical) where no solver converges; so do all below.
/// `with_values`: whether the factor's own singular values are wanted.
ThinFactor make_thin_factor(MatrixView<const double> matrix, bool with_values = true,
                            const Compute& compute = {});

/// The min(r, columns) singular values of M that need not vanish, descending, times
/// 2^-(both exponents). From the Gram matrices, whose error is a small multiple of
/// 2^-53 ‖left‖² ‖right‖² on each σ²; where the factors cancel, so that this is not small beside
/// σ_1², from QR factors.
std::vector<double> thin_product_singular_values(const ThinFactor& left, const ThinFactor& right,
                                                 const Compute& compute = {});

/// Whether M itself, (width, width), costs less than Gram matrices of both factors (inner, width)
/// and their product.
bool worth_forming(std::int64_t inner, std::int64_t width);

/// The factors of one product, finite.
struct ThinPair {
  MatrixView<const double> left, right;  // both (r, columns)
};

/// The min(r, columns) singular values of each product that need not vanish, or why there are none.
/// Many heads at once cost less than one by one. Neighbours with the same factor share what is
/// computed from it.
std::vector<SingularResult> thin_products_singular_values(std::span<const ThinPair> pairs,
                                                          const Compute& compute = {});

/// right · leftᵀ (r, r), whose trace, and traces of powers, are those of M.
/// `left` and `right` have equally many columns, here and below.
Matrix<double> head_space_product(const ThinFactor& left, const ThinFactor& right,
                                  const Compute& compute = {});

/// The eigenvalues of (M + Mᵀ) / 2 that need not vanish, ascending, from the at most 2 r dimensions
/// that both factors span.
std::vector<double> symmetric_part_eigenvalues(const ThinFactor& left, const ThinFactor& right,
                                               const Matrix<double>& head_space,
                                               const Compute& compute = {});

/// The eigenvalues of M that need not vanish, in no order: those of `head_space`, or of M itself
/// where that is smaller.
std::vector<std::complex<double>> thin_product_eigenvalues(const ThinFactor& left,
                                                           const ThinFactor& right,
                                                           const Matrix<double>& head_space,
                                                           const Compute& compute = {});

}  // namespace attnscope
