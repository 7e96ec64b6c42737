// A thin factor (r, columns), with all the data needed for its products.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

// Gram matrices of thin factors (r, columns), r ≤ columns, and singular values of their products.
// Shared by factored_product and factored_product_batch.

/// Data of a factor (r, columns), r ≤ columns, for the singular values of a product.
struct FactorGram {
  double squared_norm_bound = 0;  // upper bound on σ_1²
  std::vector<double> lower;      // (r, r), lower triangle, column-major
  std::vector<double> cholesky;   // Cholesky factor; empty if there is none
};

/// Makes a FactorGram from the Gram matrix `lower` (r, r), lower triangle. `with_cholesky`: also
/// computes its Cholesky factor.
FactorGram factor_gram(std::vector<double> lower, std::int64_t r, bool with_cholesky,
                       const Compute& compute);

/// Returns a symmetric matrix (r, r), lower triangle, whose eigenvalues are σ(M)²: Lᵀ G L, where L
/// Lᵀ is one Gram matrix and G the other. Its eigenvalues are those of G_left G_right. Empty if
/// neither has such an L.
std::vector<double> product_core(const FactorGram& left, const FactorGram& right, std::int64_t r,
                                 const Compute& compute);

/// Returns the singular values, descending, from the eigenvalues of a Gram matrix (n, n), lower
/// triangle, destroyed. Throws Error(numerical) if no solver converges.
std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram,
                                         const Compute& compute);

/// Returns whether values from product_core() are accurate. `largest` is σ_1, `norm_bound` is
/// ‖left‖ ‖right‖.
bool trusted(double largest, double norm_bound);

[[noreturn]] void throw_not_converged(std::int64_t order);

/// A factor with everything that is computed once and used in each of its products. Its values are
/// those of the given matrix times 2^-exponent, so that squares neither overflow nor underflow.
struct ProductFactor {
  Matrix<double> rows;  // (r, columns), largest magnitude in [1/2, 1), or zero
  int exponent = 0;
  bool finite = true;  // if false, nothing below is set
  bool zero = false;
  std::vector<double> singular_values;  // (min(r, columns),) descending; empty if not requested
  FactorGram gram;                      // empty if r > columns

  MatrixView<const double> view() const { return rows.view(); }
  bool is_zero() const { return zero; }
};

/// Makes a factor. `with_values`: also computes the factor's own singular values. Throws
/// Error(numerical) if no solver converges.
ProductFactor make_product_factor(MatrixView<const double> matrix, bool with_values = true,
                                  const Compute& compute = {});

/// Returns a row-major copy of a view with any strides.
Matrix<double> packed(MatrixView<const double> matrix);

}  // namespace attnscope
