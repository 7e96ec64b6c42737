// Eigenvalues of symmetric matrices in float64; for large ones by hand-written kernels: full → band
// → tridiagonal → values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// All eigenvalues, ascending, of the symmetric matrix in the lower triangle (n, n; column-major,
/// destroyed), by the kernels or by LAPACK; nothing if LAPACK did not converge. Finite input.
std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* lower,
                                                         const Compute& compute = {});

/// The same of a symmetric view (n, n), whose lower triangle is read and stays: the kernels need
/// half a copy.
std::optional<std::vector<double>> symmetric_eigenvalues(MatrixView<const double> lower,
                                                         const Compute& compute = {});

/// All eigenvalues, ascending, of the symmetric matrix of order tiles * kernels::kTile, whose lower
/// triangle is in tiles (kernels/tiles.h) and is destroyed. Finite input. The error of an
/// eigenvalue is a small multiple of 2^-53 of the largest. Needs compute.kernels.available().
std::vector<double> tiled_eigenvalues(std::size_t tiles, double* triangle,
                                      const Compute& compute = {});

}  // namespace attnscope
