// The memory layout of symmetric matrices for kernels.
#pragma once

#include <cstddef>

namespace attnscope::kernels {

/// Side of the square tiles of a symmetric matrix, each contiguous and column-major. Small enough
/// to keep the chase cheap, and a multiple of every register's lanes.
inline constexpr std::size_t kTile = 24;
inline constexpr std::size_t kTileSize = kTile * kTile;

/// The lower triangle of a symmetric matrix of `tiles` × kTile rows: panels of kTile rows, one
/// after the other. Panel i has the tiles (i, 0) … (i, i), the last one stored completely.
inline constexpr std::size_t panel_offset(std::size_t panel) {
  return kTileSize * (panel * (panel + 1) / 2);
}
inline constexpr std::size_t triangle_size(std::size_t tiles) { return panel_offset(tiles); }

}  // namespace attnscope::kernels
