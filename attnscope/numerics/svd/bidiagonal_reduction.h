// Singular values of nearly square float32 matrices: reduces the matrix itself in float32 and
// finishes in float64. About 1.5 times as fast as with the Gram matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The reduction's result, which may be inaccurate.
struct ReducedValues {
  std::vector<double> values;  // (k,) descending, none negative
  double energy = 0;           // the exact Σσ²: the matrix's sum of squares
};

/// `matrix` of finite elements, with compute.kernels.available(). Values are usually within 1e-7
/// σ_1.
ReducedValues reduced_singular_values(MatrixView<const float> matrix, const Compute& compute = {});

/// Whether the values can be trusted to within 1e-6 σ_1, and the cumulative energies to within
/// 1e-6.
bool within_error_bounds(const ReducedValues& reduced);

/// Whether the reduction is the faster way for this shape.
bool worth_reducing(std::int64_t rows, std::int64_t cols);

/// The values, or nothing if they cannot be trusted.
std::optional<std::vector<double>> bidiagonal_singular_values(MatrixView<const float> matrix,
                                                              const Compute& compute = {});

}  // namespace attnscope
