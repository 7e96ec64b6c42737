// Singular values from a Gram matrix summed in float32. This halves the time of the product, which
// dominates for tall and wide matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/matrix_blocks.h"

namespace attnscope {

/// Returns whether float32_gram_singular_values() is likely to succeed and to be faster than
/// singular_values().
bool worth_float32_gram(std::int64_t rows, std::int64_t cols);

/// Returns the singular values, descending, of a matrix of finite elements, within 1e-6 σ_1. An
/// error E of the Gram matrix moves σ_i by at most ‖E‖ / σ_i. One column of tiles, also summed in
/// float64, estimates ‖E‖. Empty if the error may be too large. Requires
/// compute.kernels.available().
std::optional<std::vector<double>> float32_gram_singular_values(MatrixView<const float> matrix,
                                                                const Compute& compute = {});

/// Does the same for A (n, k), n ≤ k; `largest_magnitude` is that of A.
std::optional<std::vector<double>> float32_gram_singular_values(const ColumnSource<float>& a,
                                                                double largest_magnitude,
                                                                const Compute& compute = {});

}  // namespace attnscope
