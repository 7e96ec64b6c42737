// Gram matrices in float64, from which singular values and circuits come.
#pragma once

#include <cstddef>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/matrix_blocks.h"

namespace attnscope {

/// The largest magnitude in a matrix of finite elements; 0 for an empty one.
template <class T>
double largest_magnitude(MatrixView<const T> matrix, const Compute& compute = {});

/// The e for which the largest magnitude is in [2^(e−1), 2^e). Scaled by 2^−e, squares neither
/// overflow nor vanish, and 2^−e is a float64. Any e for a zero matrix.
int scale_exponent(double largest_magnitude);

/// scale² A Aᵀ for A (n, k): (n, n), lower triangle, column-major; zero above the diagonal.
template <class T>
std::vector<double> gram_lower(MatrixView<const T> a, double scale, const Compute& compute = {});

/// The same by LAPACK only.
template <class T>
std::vector<double> plain_gram_lower(const ColumnSource<T>& a, double scale,
                                     const Compute& compute = {});

/// Zeros for the lower triangle of `tiles` rows of tiles (kernels/tiles.h). The memory belongs to
/// the calling thread until its next call, so that a thread has only one Gram matrix.
double* zero_triangle(std::size_t tiles);

/// gram_lower in tiles, with zeros beyond the matrix, in the memory of zero_triangle(). `lower`: A
/// is lower triangular, which costs a third. Needs compute.kernels.available().
template <class T>
double* gram_tiles(const ColumnSource<T>& a, double scale, const Compute& compute = {},
                   bool lower = false);

}  // namespace attnscope
