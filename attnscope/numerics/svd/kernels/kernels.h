// Eigenvalues of many small tridiagonal matrices at once.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// Groups of lanes() tridiagonal matrices that are solved together: each step depends on the
/// previous one of its group, but not on other groups.
inline constexpr std::size_t kGroups = 4;

/// diagonal: (groups, order + 1, lanes), the last row of each group unused; becomes the
/// eigenvalues, ascending. off_diagonal: the same shape, destroyed. groups: 1 … kGroups. False if
/// LAPACK's limit of sweeps is not enough.
bool batched_eigenvalues(Kernels kernels, double* diagonal, double* off_diagonal, std::size_t order,
                         std::size_t groups);

}  // namespace attnscope::kernels
