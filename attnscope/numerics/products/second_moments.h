// Sums of products of a stream of float32 rows, in float64.
#pragma once

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// sums (n, m) += Σ a bᵀ over the rows of `a` (k, n) and `b` (k, m). Float32 products of up to 256
/// rows make a sum, and these are added in float64: the error of an element is about √256 2^-24,
/// 1e-6, of the sum of its products' magnitudes at most. Shorter sums are more exact and add more
/// often. The same digits for any number of threads. Where `b` is `a` itself, only elements of the
/// lower triangle are sure to be set.
void add_second_moments(MatrixView<const float> a, MatrixView<const float> b,
                        MatrixView<double> sums, const Compute& compute);

}  // namespace attnscope
