// Kernels of float64 products: of two packed matrices, and of a matrix with its transpose.
#pragma once

#include <cstddef>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

// Product of a matrix with its transpose in float64: its Gram matrix, summed into tiles.

/// Returns the largest magnitude in a matrix of finite elements; 0 for an empty matrix.
float largest_magnitude(Kernels kernels, MatrixView<const float> matrix);
double largest_magnitude(Kernels kernels, MatrixView<const double> matrix);

/// Number of columns of the factor that are packed together. It is large, because each pass reads
/// and writes the whole triangle.
inline constexpr std::size_t kGramDepth = 1024;

/// Packs panels [first, last) of `a` (rows, depth ≤ kGramDepth) times `scale` as float64:
/// packed[panel][column][kTile rows]. Rows beyond the matrix are zero.
void pack_panels(Kernels kernels, MatrixView<const float> a, double scale, std::size_t first,
                 std::size_t last, double* packed);
void pack_panels(Kernels kernels, MatrixView<const double> a, double scale, std::size_t first,
                 std::size_t last, double* packed);

/// Adds packed · packedᵀ to panels [first, last) of `triangle`. Row r of the factor is zero from
/// packed column r + `filled` on. kFilled: no zeros are known.
inline constexpr std::ptrdiff_t kFilled = std::ptrdiff_t{1} << 40;
void add_tile_products(Kernels kernels, const double* packed, std::size_t depth, std::size_t first,
                       std::size_t last, double* triangle, std::ptrdiff_t filled = kFilled);

/// Computes scale² a aᵀ for few contiguous rows, without packing: lower (rows, rows), column-major,
/// lower triangle. scratch: few_rows_scratch(rows).
inline constexpr std::size_t kFewRows = 128;
inline constexpr std::size_t kFewRowsStep = 512 + 8;  // rows map to different cache sets
inline constexpr std::size_t few_rows_scratch(std::size_t rows) {
  return (rows + 3) * kFewRowsStep;
}
void gram_of_few_rows(Kernels kernels, MatrixView<const float> a, double scale, double* scratch,
                      double* lower);
void gram_of_few_rows(Kernels kernels, MatrixView<const double> a, double scale, double* scratch,
                      double* lower);

// Products of two packed matrices, tile by tile.

/// Number of panels of the left side that stay in the L2 cache while they are multiplied with every
/// tile of the right side.
inline constexpr std::size_t kProductPanels = 8;

/// Computes out = left · rightᵀ, in tiles (tiles.h): out[tile of right][panel of left]. Both sides
/// are packed by pack_panels(), each panel `depth` columns long. left has `panels` panels, at most
/// kProductPanels; right has `tiles`.
void multiply_panels(Kernels kernels, const double* left, std::size_t panels, const double* right,
                     std::size_t tiles, std::size_t depth, double* out);

}  // namespace attnscope::kernels
