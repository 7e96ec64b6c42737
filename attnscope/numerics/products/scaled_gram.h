// Computes the Gram matrices of many views, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/products/product_factor.h"

namespace attnscope {

/// The Gram matrix of a view, scaled like a ProductFactor. Reused if the next pair has the same
/// view, or rows of it: heads are rows of the sum over heads.
class ScaledGram {
 public:
  ScaledGram(bool with_cholesky, const Compute& compute)
      : with_cholesky_(with_cholesky), compute_(compute) {}

  int exponent = 0;
  FactorGram gram;  // empty if the factor is zero or has more rows than columns

  void become(MatrixView<const double> matrix);

 private:
  bool cut_from_whole(MatrixView<const double> matrix);

  bool with_cholesky_;
  const Compute& compute_;
  MatrixView<const double> of_, whole_;
  int whole_exponent_ = 0;
  std::vector<double> whole_lower_;
};

}  // namespace attnscope
