// Gram matrices in float64, for singular values and circuits.
#pragma once

#include <cstddef>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/matrix_blocks.h"

namespace attnscope {

/// Returns the largest magnitude in a matrix of finite elements; 0 for an empty matrix.
template <class T>
double largest_magnitude(MatrixView<const T> matrix, const Compute& compute = {});

/// Returns the e for which the largest magnitude is in [2^(e−1), 2^e). After scaling by 2^−e,
/// squares neither overflow nor underflow, and 2^−e is a float64. Any e for a zero matrix.
int scale_exponent(double largest_magnitude);

/// Returns scale² A Aᵀ for A (n, k): (n, n), lower triangle, column-major; zero above the diagonal.
template <class T>
std::vector<double> gram_lower(MatrixView<const T> a, double scale, const Compute& compute = {});

/// Returns the same, computed only by LAPACK.
template <class T>
std::vector<double> plain_gram_lower(const ColumnSource<T>& a, double scale,
                                     const Compute& compute = {});

/// Returns a zeroed lower triangle of `tiles` rows of tiles (kernels/tiles.h). The memory belongs
/// to the calling thread until its next call, so a thread has only one Gram matrix.
double* zero_triangle(std::size_t tiles);

/// Returns gram_lower() in tiles, with zeros beyond the matrix, in the memory of zero_triangle().
/// `lower`: A is lower triangular, which costs a third. Requires compute.kernels.available().
template <class T>
double* gram_tiles(const ColumnSource<T>& a, double scale, const Compute& compute = {},
                   bool lower = false);

}  // namespace attnscope
