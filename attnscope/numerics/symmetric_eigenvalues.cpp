#include "attnscope/numerics/symmetric_eigenvalues.h"

#include <algorithm>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/kernels/kernels.h"
#include "attnscope/numerics/parts.h"
#include "attnscope/numerics/tridiagonal_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kTile;
using kernels::kTileSize;

/// Into how many parts a sweep is cut: one until other threads could help. Each has sums of its
/// own, so the number decides the last digits and must depend on the matrix alone.
std::size_t sweep_parts(std::size_t tiles) { return tiles <= 48 ? 1 : 8; }

}  // namespace

std::vector<double> tiled_eigenvalues(std::size_t tiles, double* triangle) {
  thread_local AlignedBuffer<double> memory;
  const std::size_t n = tiles * kTile, panel = tiles * kTileSize;
  const std::size_t parts = sweep_parts(tiles);
  const std::size_t band_size = (n + kernels::kBandMargin) * kernels::kBandStep;
  double* at = memory.reserve((6 + parts) * panel + band_size);
  const auto take = [&](std::size_t count) {
    double* taken = at;
    at += count;
    return taken;
  };
  kernels::BandReduction work{.tiles = tiles, .parts = parts, .triangle = triangle};
  work.v = take(panel);
  work.y_rows = take(panel);
  work.y_tiles = take(parts * panel);
  work.left = take(2 * panel);
  work.right = take(2 * panel);
  work.band = take(band_size);
  std::fill(work.band, work.band + band_size, 0.0);

  for (std::size_t column = 0; column < tiles; ++column) {
    kernels::factor_tile_column(work, column);
    if (column + 1 == tiles) break;
    run_parts(parts, [&](std::size_t part) { kernels::sweep_tiles(work, column, part); });
    kernels::finish_tile_column(work, column);
  }
  std::vector<double> diagonal(n), off_diagonal(n);
  kernels::chase_band(work.band, n, diagonal.data(), off_diagonal.data());
  off_diagonal.pop_back();
  return tridiagonal_eigenvalues(diagonal, off_diagonal);
}

}  // namespace attnscope
