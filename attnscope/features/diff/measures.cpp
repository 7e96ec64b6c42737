#include "attnscope/features/diff/measures.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

SubspaceOverlap subspace_overlap(MatrixView<const double> a, MatrixView<const double> b,
                                 const Compute& compute) {
  const Matrix<double> products = multiply_transposed(a, b, compute);
  double squares = 0;
  for (std::int64_t at = 0; at < products.rows() * products.cols(); ++at) {
    squares += products.data()[at] * products.data()[at];
  }
  const double largest = singular_values(products.view(), compute).values.front();
  return {.share = squares / static_cast<double>(std::min(a.rows, b.rows)),
          .null = static_cast<double>(std::max(a.rows, b.rows)) / static_cast<double>(a.cols),
          .angle = std::acos(std::clamp(largest, 0.0, 1.0)) * 180 / std::numbers::pi};
}

}  // namespace attnscope
