// Eigenvalues of many small tridiagonal matrices at once.
#pragma once

#include <cstddef>

#include "attnscope/numerics/instruction_set.h"

namespace attnscope::kernels {

/// Groups of lanes() tridiagonal matrices whose eigenvalues are sought together: each step waits
/// for the one before, but not for those of other groups.
inline constexpr std::size_t kGroups = 4;

/// diagonal: (groups, order + 1, lanes), the last row of each group free, becomes the eigenvalues,
/// ascending; off_diagonal: the same, destroyed. groups: 1 … kGroups. False where LAPACK's limit of
/// sweeps does not do.
bool batched_eigenvalues(Kernels kernels, double* diagonal, double* off_diagonal, std::size_t order,
                         std::size_t groups);

}  // namespace attnscope::kernels
