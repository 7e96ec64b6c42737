// One product M = leftᵀ · right of two thin factors, both (r, columns), computed with matrices of
// order r and 2 r. For small r, no matrix of the size of M is formed or decomposed. Every function
// throws Error(numerical) if no solver converges.
#pragma once

#include <complex>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/products/product_factor.h"

namespace attnscope {

/// Returns the min(r, columns) singular values of M that can be nonzero, descending, times 2^-(both
/// exponents). They come from Gram matrices, with an error of a small multiple of 2^-53 ‖left‖²
/// ‖right‖² on each σ². If cancellation makes this too large compared with σ_1², QR factors are
/// used instead.
std::vector<double> factored_product_singular_values(const ProductFactor& left,
                                                     const ProductFactor& right,
                                                     const Compute& compute = {});

/// Returns right · leftᵀ (r, r). Its trace and the traces of its powers are those of M. Here and
/// below, `left` and `right` have the same number of columns.
Matrix<double> head_space_product(const ProductFactor& left, const ProductFactor& right,
                                  const Compute& compute = {});

/// Returns the eigenvalues of (M + Mᵀ) / 2 that can be nonzero, ascending. They come from the at
/// most 2 r dimensions spanned by both factors.
std::vector<double> symmetric_part_eigenvalues(const ProductFactor& left,
                                               const ProductFactor& right,
                                               const Matrix<double>& head_space,
                                               const Compute& compute = {});

/// Returns the eigenvalues of M that can be nonzero, unordered: those of `head_space`, or of M
/// itself if M is smaller.
std::vector<std::complex<double>> factored_product_eigenvalues(const ProductFactor& left,
                                                               const ProductFactor& right,
                                                               const Matrix<double>& head_space,
                                                               const Compute& compute = {});

}  // namespace attnscope
