// Eigenvalues of symmetric tridiagonal matrices, by counting.
#pragma once

#include <span>
#include <vector>

#include "attnscope/numerics/compute.h"

namespace attnscope {

/// All eigenvalues, ascending, of the matrix with `diagonal` (n,) and `off_diagonal` (n − 1,), each
/// within about 2^-50 of its norm. Finite input, n > 0. Needs compute.kernels.available().
std::vector<double> tridiagonal_eigenvalues(std::span<const double> diagonal,
                                            std::span<const double> off_diagonal,
                                            const Compute& compute = {});

}  // namespace attnscope
