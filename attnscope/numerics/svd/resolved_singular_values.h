// Singular values of float64 input, as accurate as LAPACK's. No Gram matrix is formed, because its
// rounding errors hide all values below 1e-8 σ_1.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/matrix_blocks.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

/// Returns the singular values of a matrix of finite elements. Every value is within a small
/// multiple of 2^-52 σ_1 of the exact one. Throws Error(numerical) if no solver converges or σ_1
/// overflows.
SingularValues resolved_singular_values(MatrixView<const double> matrix,
                                        const Compute& compute = {});

/// Does the same for a matrix that is read block by block. `largest` is its largest magnitude. A
/// rectangular matrix is never completely in memory.
SingularValues resolved_singular_values(const MatrixBlocks<double>& blocks, double largest,
                                        const Compute& compute = {});

/// Returns the peak memory of the function above in bytes.
std::uint64_t resolved_singular_values_bytes(std::int64_t rows, std::int64_t cols);

/// Returns the singular values of M = leftᵀ · right, both (r, D) and finite: the min(r, D) that can
/// be nonzero. Each is within a small multiple of 2^-52 ‖left‖ ‖right‖ of the exact one, as if M
/// were formed.
SingularValues resolved_product_singular_values(MatrixView<const double> left,
                                                MatrixView<const double> right,
                                                const Compute& compute = {});

/// Returns the peak memory of the function above in bytes, for factors of the shape (inner, width).
std::uint64_t resolved_product_singular_values_bytes(std::int64_t inner, std::int64_t width);

}  // namespace attnscope
