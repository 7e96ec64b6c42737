// Singular values of many small matrices at once, such as attention maps or heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

/// Up to this order, the matrices that are processed together fit into the L2 cache.
inline constexpr std::int64_t kLargestSmallOrder = 128;

/// Computes the singular values, descending, of each (order, order) matrix of finite elements:
/// values (count, order). Infinite if one exceeds float64's range. For lower triangular matrices,
/// such as causal attention maps, only that triangle is multiplied. Accuracy as for
/// singular_values(). LAPACK is used on CPUs without kernels and for orders over
/// kLargestSmallOrder; throws Error(numerical) if it does not converge.
void small_singular_values(std::span<const MatrixView<const float>> matrices, double* values,
                           const Compute& compute = {});
void small_singular_values(std::span<const MatrixView<const double>> matrices, double* values,
                           const Compute& compute = {});

/// Returns the singular values of each matrix (for example the heads of a weight), or why there are
/// none. Many matrices of one small shape together cost less than one by one.
std::vector<SingularResult> singular_values_of_each(
    std::span<const MatrixView<const float>> matrices, const Compute& compute = {});
std::vector<SingularResult> singular_values_of_each(
    std::span<const MatrixView<const double>> matrices, const Compute& compute = {});

/// Computes the singular values, descending, of matrices given by their Gram matrices (order,
/// order). These are lower triangles, column-major, with elements of magnitude at most 1. values:
/// (count, order).
void small_gram_singular_values(std::span<const double* const> grams, std::int64_t order,
                                double* values, const Compute& compute = {});

}  // namespace attnscope
