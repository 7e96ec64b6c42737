// Gram matrices of thin factors (r, columns), r ≤ columns, and the singular values of products from
// them: what one product and many together share.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/numerics/compute.h"

namespace attnscope {

/// What the singular values of a product need of a factor (r, columns), r ≤ columns.
struct FactorGram {
  double squared_norm_bound = 0;  // at least σ_1²
  std::vector<double> lower;      // (r, r), lower triangle, column-major
  std::vector<double> cholesky;   // of the same; empty where it has none
};

/// Of the Gram matrix `lower` (r, r), lower triangle; `with_cholesky`: whether its factor is
/// wanted.
FactorGram factor_gram(std::vector<double> lower, std::int64_t r, bool with_cholesky,
                       const Compute& compute);

/// A matrix (r, r) whose eigenvalues are σ(M)², lower triangle: those of G_left G_right, and so of
/// Lᵀ G L with L Lᵀ one of them. Empty where neither has such an L.
std::vector<double> product_core(const FactorGram& left, const FactorGram& right, std::int64_t r,
                                 const Compute& compute);

/// Descending singular values from the eigenvalues of a Gram matrix (n, n), lower triangle,
/// destroyed. Throws Error(numerical) where no solver converges.
std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram,
                                         const Compute& compute);

/// Whether values from the core keep their digits: σ_1 beside ‖left‖ ‖right‖.
bool trusted(double largest, double norm_bound);

[[noreturn]] void throw_not_converged(std::int64_t order);

}  // namespace attnscope
