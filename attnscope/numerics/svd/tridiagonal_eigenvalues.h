// Eigenvalues of symmetric tridiagonal matrices, by Sturm sequences.
#pragma once

#include <span>
#include <vector>

#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Returns all eigenvalues, ascending, of the matrix with `diagonal` (n,) and `off_diagonal` (n −
/// 1,). Each is within about 2^-50 of the norm. Requires finite input, n > 0, and
/// compute.kernels.available().
std::vector<double> tridiagonal_eigenvalues(std::span<const double> diagonal,
                                            std::span<const double> off_diagonal,
                                            const Compute& compute = {});

}  // namespace attnscope
