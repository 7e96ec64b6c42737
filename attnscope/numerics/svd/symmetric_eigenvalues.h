// Eigenvalues of symmetric matrices in float64. Large matrices use hand-written kernels: full →
// band → tridiagonal → values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Returns all eigenvalues, ascending, of the symmetric matrix in the lower triangle (n, n;
/// column-major, destroyed), by the kernels or LAPACK. Empty if LAPACK did not converge. Input must
/// be finite.
std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* lower,
                                                         const Compute& compute = {});

/// Does the same for a symmetric view (n, n), whose lower triangle is read and not modified. The
/// kernels copy half of it.
std::optional<std::vector<double>> symmetric_eigenvalues(MatrixView<const double> lower,
                                                         const Compute& compute = {});

/// Returns all eigenvalues, ascending, of the symmetric matrix of order tiles * kernels::kTile. Its
/// lower triangle is in tiles (kernels/tiles.h) and is destroyed. Input must be finite. The error
/// of an eigenvalue is a small multiple of 2^-53 of the largest. Requires
/// compute.kernels.available().
std::vector<double> tiled_eigenvalues(std::size_t tiles, double* triangle,
                                      const Compute& compute = {});

}  // namespace attnscope
