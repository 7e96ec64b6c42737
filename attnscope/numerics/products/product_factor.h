// A thin factor (r, columns), with everything that its products need of it.
#pragma once

#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/products/factor_gram.h"

namespace attnscope {

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
