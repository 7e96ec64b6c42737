// Many products M = leftᵀ · right of thin factors, both (r, columns), computed together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

/// Returns whether forming M, (width, width), costs less than the Gram matrices of both factors
/// (inner, width) and their product.
bool worth_forming(std::int64_t inner, std::int64_t width);

/// The factors of one product. They must be finite.
struct FactorPair {
  MatrixView<const double> left, right;  // both (r, columns)
};

/// Returns the min(r, columns) singular values of each product that can be nonzero, or why there
/// are none. Many heads together cost less than one by one. Adjacent pairs with the same factor
/// share its results.
std::vector<SingularResult> factored_products_singular_values(std::span<const FactorPair> pairs,
                                                              const Compute& compute = {});

}  // namespace attnscope
