// A thin factor (r, columns), with everything that its products need of it.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

// Gram matrices of thin factors (r, columns), r ≤ columns, and the singular values of products from
// them. Shared by factored_product and factored_product_batch.

/// What is needed of a factor (r, columns), r ≤ columns, for the singular values of a product.
struct FactorGram {
  double squared_norm_bound = 0;  // at least σ_1²
  std::vector<double> lower;      // (r, r), lower triangle, column-major
  std::vector<double> cholesky;   // its Cholesky factor; empty if it has none
};

/// From the Gram matrix `lower` (r, r), lower triangle; `with_cholesky`: whether to compute its
/// Cholesky factor.
FactorGram factor_gram(std::vector<double> lower, std::int64_t r, bool with_cholesky,
                       const Compute& compute);

/// A symmetric matrix (r, r), lower triangle, whose eigenvalues are σ(M)²: Lᵀ G L, where L Lᵀ is
/// one Gram matrix and G the other. Its eigenvalues are those of G_left G_right. Empty if neither
/// has such an L.
std::vector<double> product_core(const FactorGram& left, const FactorGram& right, std::int64_t r,
                                 const Compute& compute);

/// Descending singular values from the eigenvalues of a Gram matrix (n, n), lower triangle,
/// destroyed. Throws Error(numerical) if no solver converges.
std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram,
                                         const Compute& compute);

/// Whether values from product_core() keep their digits: `largest` is σ_1, `norm_bound` is ‖left‖
/// ‖right‖.
bool trusted(double largest, double norm_bound);

[[noreturn]] void throw_not_converged(std::int64_t order);

/// One factor, with everything that is computed once and used in each of its products. Its numbers
/// are those of the given matrix times 2^-exponent, so that squares neither overflow nor vanish.
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

/// Throws Error(numerical) if no solver converges. `with_values`: whether to compute the factor's
/// own singular values.
ProductFactor make_product_factor(MatrixView<const double> matrix, bool with_values = true,
                                  const Compute& compute = {});

/// A row-major copy of a view with any strides.
Matrix<double> packed(MatrixView<const double> matrix);

}  // namespace attnscope
