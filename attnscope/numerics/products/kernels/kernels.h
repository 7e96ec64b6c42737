// Products of two packed matrices, tile by tile.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// Panels of the left side that stay in the second-level cache while they are multiplied with every
/// tile of the right side.
inline constexpr std::size_t kProductPanels = 8;

/// out = left · rightᵀ, in tiles (tiles.h): out[tile of right][panel of left]. Both sides are
/// packed as pack_panels() packs them, each panel `depth` columns long; left has `panels` of them,
/// at most kProductPanels, right has `tiles`.
void multiply_panels(Kernels kernels, const double* left, std::size_t panels, const double* right,
                     std::size_t tiles, std::size_t depth, double* out);

}  // namespace attnscope::kernels
