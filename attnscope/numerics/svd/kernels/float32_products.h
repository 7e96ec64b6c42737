// The products of tile_products.h in float32, which takes half the time, and a sample of them in
// float64.
#pragma once

#include <cstddef>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

/// Rows that are packed together, and the tiles that they make.
inline constexpr std::size_t kGroupTiles = 2;
inline constexpr std::size_t kGroup = kGroupTiles * kTile;
/// Products that are summed separately: shorter sums have smaller rounding errors.
inline constexpr std::size_t kFloat32Chain = 32;

/// Rows of group `group` of `a` (rows, columns ≤ depth) times `scale`: packed[depth][kGroup], zero
/// beyond the matrix.
void pack_float32_group(Kernels kernels, MatrixView<const float> a, float scale, std::size_t group,
                        std::size_t depth, float* packed);

/// Adds packed · packedᵀ, summed in float32 over the depth, to the panels of groups [first, last)
/// of `triangle`. depth: a multiple of kFloat32Chain, at most kGramDepth. packed: groups one after
/// the other.
void add_float32_products(Kernels kernels, const float* packed, std::size_t depth,
                          std::size_t tiles, std::size_t first, std::size_t last, double* triangle);

/// The same in float64, for the first column of tiles only: adds to tiles (i, 0) of the panels of
/// those groups. samples: (tiles, kTileSize), with tiles rounded up to whole groups.
void add_float32_samples(Kernels kernels, const float* packed, std::size_t depth, std::size_t first,
                         std::size_t last, double* samples);

}  // namespace attnscope::kernels
