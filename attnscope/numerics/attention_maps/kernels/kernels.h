// The kernels of attention maps: sums of a map, and products with a few columns.
#pragma once

#include <cstddef>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/attention_maps/map_sums.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

// Sums from one pass over an attention map.

/// `column_squares` must have room for a multiple of kMapColumnStep elements. Elements beyond the
/// map are overwritten.
inline constexpr std::size_t kMapColumnStep = 8;
MapSums map_sums(Kernels kernels, MatrixView<const float> map, bool causal, double* column_squares);

// Products of an attention map, or of its Gram matrix, with a few columns.

/// Number of columns that a map is multiplied with at the same time, as a row-major matrix.
inline constexpr std::size_t kSketch = 8;

/// Computes out (rows, kSketch) = map · in, with in (cols, kSketch). Rows of the map are
/// contiguous. `lower`: elements above the diagonal are zero and not read.
void multiply_map(Kernels kernels, MatrixView<const float> map, bool lower, const double* in,
                  double* out);

/// Computes out (cols, kSketch) = mapᵀ · map · in, with in (cols, kSketch), in one pass over the
/// map. Returns the sum of the map's squares. scratch: kTogether lines of gram_scratch(cols).
inline constexpr std::size_t kTogether = 4;
inline constexpr std::size_t gram_scratch(std::size_t cols) { return (cols + 7) / 8 * 8; }
double multiply_map_gram(Kernels kernels, MatrixView<const float> map, bool lower, const double* in,
                         double* scratch, double* out);

/// Computes out = M · in for the symmetric M whose lower triangle is in tiles (tiles.h). in and out
/// are (tiles * kTile, width), row-major, with width a multiple of kTile.
void multiply_symmetric(Kernels kernels, const double* triangle, std::size_t tiles,
                        const double* in, std::size_t width, double* out);

}  // namespace attnscope::kernels
