// Gram matrices in float64, from which singular values and circuits come.
#pragma once

#include <cstddef>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/singular_values/matrix_blocks.h"

namespace attnscope {

/// The largest magnitude in a matrix of finite elements; 0 for an empty one.
template <class T>
double largest_magnitude(MatrixView<const T> matrix, const Compute& compute = {});

/// e with the largest magnitude in [2^(e−1), 2^e): times 2^−e squares neither overflow nor vanish,
/// and 2^−e is a float64. Any e for a zero matrix.
int scale_exponent(double largest_magnitude);

/// scale² A Aᵀ of A (n, k): (n, n), lower triangle, column-major; what is above it is zero.
template <class T>
std::vector<double> gram_lower(MatrixView<const T> a, double scale, const Compute& compute = {});

/// The same by LAPACK alone.
template <class T>
std::vector<double> plain_gram_lower(const ColumnSource<T>& a, double scale,
                                     const Compute& compute = {});

/// Zeros for the lower triangle of `tiles` rows of tiles (kernels/tiles.h). The memory is the
/// calling thread's until its next call, so that whichever way makes a Gram matrix, a thread has
/// only one.
double* zero_triangle(std::size_t tiles);

/// gram_lower in tiles, zeros beyond the matrix, in the memory of zero_triangle(). `lower`: A is
/// lower triangular, and costs a third. Needs compute.kernels.available().
template <class T>
double* gram_tiles(const ColumnSource<T>& a, double scale, const Compute& compute = {},
                   bool lower = false);

}  // namespace attnscope
