// How symmetric matrices lie in memory while kernels work on them.
#pragma once

#include <cstddef>

namespace attnscope::kernels {

/// Symmetric matrices lie in square tiles of this side, each contiguous and column-major. Small
/// enough to be cheap for the chase, a multiple of every register's lanes.
inline constexpr std::size_t kTile = 24;
inline constexpr std::size_t kTileSize = kTile * kTile;

/// The lower triangle of a symmetric matrix of `tiles` × kTile rows: one panel of kTile rows after
/// the other, panel i with the tiles (i, 0) … (i, i), the last one whole.
inline constexpr std::size_t panel_offset(std::size_t panel) {
  return kTileSize * (panel * (panel + 1) / 2);
}
inline constexpr std::size_t triangle_size(std::size_t tiles) { return panel_offset(tiles); }

}  // namespace attnscope::kernels
