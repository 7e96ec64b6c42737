// Eigenvalues of large symmetric matrices by hand-written kernels: full → band → tridiagonal →
// values, in float64.
#pragma once

#include <cstddef>
#include <vector>

namespace attnscope {

/// All eigenvalues, ascending, of the symmetric matrix of order tiles * kernels::kTile, whose lower
/// triangle lies in tiles (kernels.h) and is destroyed. Finite input. An eigenvalue errs by a small
/// multiple of 2^-53 of the largest. Needs kernels::available().
std::vector<double> tiled_eigenvalues(std::size_t tiles, double* triangle);

}  // namespace attnscope
