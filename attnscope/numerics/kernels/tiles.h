// The memory layout of symmetric matrices for kernels.
#pragma once

#include <cstddef>

namespace attnscope::kernels {

/// Side length of the square tiles of a symmetric matrix, each contiguous and column-major. It is
/// small, so that the bulge chase is cheap, and a multiple of every register's lanes.
inline constexpr std::size_t kTile = 24;
inline constexpr std::size_t kTileSize = kTile * kTile;

/// Returns the offset of a panel in the lower triangle of a symmetric matrix of `tiles` × kTile
/// rows. Panels of kTile rows follow each other. Panel i has the tiles (i, 0) … (i, i), the last
/// one stored completely.
inline constexpr std::size_t panel_offset(std::size_t panel) {
  return kTileSize * (panel * (panel + 1) / 2);
}
inline constexpr std::size_t triangle_size(std::size_t tiles) { return panel_offset(tiles); }

}  // namespace attnscope::kernels
