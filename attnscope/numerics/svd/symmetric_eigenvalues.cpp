#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/tridiagonal_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kTile;
using kernels::kTileSize;

/// Returns the number of parts of a sweep: one for sizes at which other threads cannot help. Each
/// part has its own sums, so this number affects the last digits and must depend only on the
/// matrix.
std::size_t sweep_parts(std::size_t tiles) { return tiles <= 48 ? 1 : 8; }

/// Sweeps of the bulge chase between two checks of the stop token.
constexpr std::size_t kSymmetricSweeps = 8 * kernels::kSweeps;

/// Below this order LAPACK is as fast.
constexpr std::int64_t kEigenKernelsFrom = 128;

bool takes_kernels(std::int64_t n, const Compute& compute) {
  return n >= kEigenKernelsFrom && compute.kernels.available();
}

std::vector<double> eigenvalues_by_kernels(MatrixView<const double> lower, const Compute& compute) {
  const auto order = static_cast<std::size_t>(lower.rows);
  const std::size_t tiles = (order + kTile - 1) / kTile;
  double* triangle = zero_triangle(tiles);
  for (std::size_t col = 0; col < order; ++col) {
    for (std::size_t row = col; row < order; ++row) {
      const double value = lower(static_cast<std::int64_t>(row), static_cast<std::int64_t>(col));
      const auto place = [&](std::size_t at_row, std::size_t at_col) {
        triangle[kernels::panel_offset(at_row / kTile) + at_col * kTile + at_row % kTile] = value;
      };
      place(row, col);
      if (row / kTile == col / kTile) place(col, row);  // diagonal tiles are complete
    }
  }
  std::vector<double> values = tiled_eigenvalues(tiles, triangle, compute);
  // Padding rows of the last tile gave zeros. It does not matter which of several zeros are
  // removed.
  const auto by_magnitude = [](double a, double b) { return std::abs(a) < std::abs(b); };
  while (values.size() > order) {
    values.erase(std::min_element(values.begin(), values.end(), by_magnitude));
  }
  return values;
}

}  // namespace

std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* lower,
                                                         const Compute& compute) {
  compute.check_stop();
  if (!takes_kernels(n, compute)) return lapack::symmetric_eigenvalues(n, lower);
  return eigenvalues_by_kernels({lower, n, n, /*row_stride=*/1, /*col_stride=*/n}, compute);
}

std::optional<std::vector<double>> symmetric_eigenvalues(MatrixView<const double> lower,
                                                         const Compute& compute) {
  compute.check_stop();
  const std::int64_t n = lower.rows;
  if (takes_kernels(n, compute)) return eigenvalues_by_kernels(lower, compute);
  std::vector<double> copy(static_cast<std::size_t>(n * n));
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      copy[static_cast<std::size_t>(col * n + row)] = lower(row, col);
    }
  }
  return lapack::symmetric_eigenvalues(n, copy.data());
}

std::vector<double> tiled_eigenvalues(std::size_t tiles, double* triangle, const Compute& compute) {
  // Scratch memory of the thread; it does not affect results.
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
    compute.check_stop();
    kernels::factor_tile_column(compute.kernels, work, column);
    if (column + 1 == tiles) break;
    run_parts(compute, parts,
              [&](std::size_t part) { kernels::sweep_tiles(compute.kernels, work, column, part); });
    kernels::finish_tile_column(compute.kernels, work, column);
  }
  std::vector<double> diagonal(n), off_diagonal(n);
  const std::size_t sweeps = n - 1;
  for (std::size_t first = 0; first < sweeps; first += kSymmetricSweeps) {
    compute.check_stop();
    kernels::chase_to_tridiagonal(compute.kernels, work.band, n, first,
                                  std::min(first + kSymmetricSweeps, sweeps));
  }
  for (std::size_t column = 0; column < n; ++column) {
    diagonal[column] = work.band[column * kernels::kBandStep];
    off_diagonal[column] = work.band[column * kernels::kBandStep + 1];
  }
  off_diagonal.pop_back();
  return tridiagonal_eigenvalues(diagonal, off_diagonal, compute);
}

}  // namespace attnscope
