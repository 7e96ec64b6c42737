// A thin factor (r, columns) of products, with what all of them need of it.
#pragma once

#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/products/factor_gram.h"

namespace attnscope {

/// One factor, with what is computed from it once for every product that it is in. Its numbers are
/// those of the given matrix times 2^-exponent, so that squares neither overflow nor vanish.
struct ProductFactor {
  Matrix<double> rows;  // (r, columns), largest magnitude in [1/2, 1), or zero
  int exponent = 0;
  bool finite = true;  // else nothing below is set
  bool zero = false;
  std::vector<double> singular_values;  // (min(r, columns),) descending; empty where not asked for
  FactorGram gram;                      // empty where r > columns

  MatrixView<const double> view() const { return rows.view(); }
  bool is_zero() const { return zero; }
};

/// Throws Error(numerical) where no solver converges. `with_values`: whether the factor's own
/// singular values are wanted.
ProductFactor make_product_factor(MatrixView<const double> matrix, bool with_values = true,
                                  const Compute& compute = {});

/// Row-major copy, also of a view that is read down its columns.
Matrix<double> packed(MatrixView<const double> matrix);

}  // namespace attnscope
