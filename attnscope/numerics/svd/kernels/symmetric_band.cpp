// Reduces a symmetric matrix in tiles to a band of width kTile by two-sided block reflectors. The
// update of one panel is delayed until the next sweep. This sweep applies it tile by tile, and at
// the same time computes the products for its own reflectors. Each tile is thus read and written
// once per panel. Source: Bischof, Lang & Sun, "A framework for symmetric band reduction", 2000.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/symmetric_band.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/panel_qr-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

constexpr std::size_t kPair = 2 * kTile;  // columns of [V W]
/// Number of columns of a row panel that stay in the L1 cache between the products of a sweep.
constexpr std::size_t kColumnsInCache = 4 * kTile;
/// Number of tile columns that a part processes at a time: their data stays in the L2 cache.
constexpr std::size_t kTilesInCache = 8;

/// A cache line is prefetched every kFetchEvery steps of the update, kGroupsAhead groups of columns
/// ahead.
constexpr std::size_t kFetchEvery = 2, kGroupsAhead = 2;

HWY_INLINE double* tile_at(const BandReduction& work, std::size_t row, std::size_t column) {
  return work.triangle + panel_offset(row) + column * kTileSize;
}

// ------------------------------------------------------------------ steps of the reduction

void store_band(const BandReduction& work, std::size_t column, const double* r) {
  const double* tile = tile_at(work, column, column);
  for (std::size_t at = 0; at < kTile; ++at) {
    double* out = work.band + (column * kTile + at) * kBandStep;
    for (std::size_t row = at; row < kTile; ++row) out[row - at] = tile[at * kTile + row];
    if (r == nullptr) continue;
    for (std::size_t row = 0; row <= at; ++row) out[kTile + row - at] = r[row * kTile + at];
  }
}

void factor_tile_column(BandReduction& work, std::size_t column) {
  for (std::size_t row = column; row < work.tiles; ++row) {
    double* tile = tile_at(work, row, column);
    if (work.pending) {
      multiply_tile</*kSubtract=*/true>({.left = work.left + row * kTile * kPair,
                                         .left_step = kTile,
                                         .right = work.right + column * kTile * kPair,
                                         .right_depth = 1,
                                         .right_column = kPair,
                                         .depth = kPair},
                                        tile, kTile);
    }
    double* out = work.v + row * kTileSize;
    for (std::size_t line = 0; line < kTile; ++line) {
      for (std::size_t at = 0; at < kTile; ++at) out[line * kTile + at] = tile[at * kTile + line];
    }
  }
  if (column + 1 == work.tiles) {
    store_band(work, column, nullptr);
    return;
  }
  HWY_ALIGN double r[kTileSize];
  factor_panel<kTile>(work.v + (column + 1) * kTileSize, (work.tiles - column - 1) * kTile, r,
                      work.t);
  store_band(work, column, r);
}

/// Sweeps columns [first, last) of row panel `panel`.
template <bool kPending, bool kDiagonal>
HWY_INLINE void sweep_columns(const BandReduction& work, std::size_t panel, std::size_t first,
                              std::size_t last, double* y_tiles) {
  double* columns = work.triangle + panel_offset(panel);
  for (std::size_t column = first; column < last; column += kColumns) {
    double* at = columns + column * kTile;
    if constexpr (kPending) {
      multiply_rows</*kSubtract=*/true, kTile, kFetchEvery>(
          {.left = work.left + panel * kTile * kPair,
           .left_step = kTile,
           .right = work.right + column * kPair,
           .right_depth = 1,
           .right_column = kPair,
           .depth = kPair,
           .next = at + kGroupsAhead * kColumns * kTile},
          at, kTile);
    }
    if constexpr (!kDiagonal) {
      multiply_rows</*kSubtract=*/false>({.left = work.v + panel * kTileSize,
                                          .left_step = kTile,
                                          .right = at,
                                          .right_depth = 1,
                                          .right_column = kTile,
                                          .depth = kTile},
                                         work.y_rows + column * kTile, kTile);
    }
  }
  multiply_tile</*kSubtract=*/false>({.left = columns + first * kTile,
                                      .left_step = kTile,
                                      .right = work.v + first * kTile,
                                      .right_depth = kTile,
                                      .right_column = 1,
                                      .depth = last - first},
                                     y_tiles + panel * kTileSize, kTile);
}

template <bool kPending>
void sweep_part(const BandReduction& work, std::size_t column, std::size_t part) {
  const std::size_t start = column + 1;
  double* y_tiles = work.y_tiles + part * work.tiles * kTileSize;
  std::fill(y_tiles + start * kTileSize, y_tiles + work.tiles * kTileSize, 0.0);
  for (std::size_t first = start + part * kTilesInCache; first < work.tiles;
       first += work.parts * kTilesInCache) {
    const std::size_t last = std::min(first + kTilesInCache, work.tiles);
    std::fill(work.y_rows + first * kTileSize, work.y_rows + last * kTileSize, 0.0);
    for (std::size_t panel = first; panel < work.tiles; ++panel) {
      const std::size_t end = std::min(panel, last) * kTile;
      for (std::size_t at = first * kTile; at < end; at += kColumnsInCache) {
        sweep_columns<kPending, /*kDiagonal=*/false>(work, panel, at,
                                                     std::min(at + kColumnsInCache, end), y_tiles);
      }
      if (panel < last) {
        sweep_columns<kPending, /*kDiagonal=*/true>(work, panel, panel * kTile, (panel + 1) * kTile,
                                                    y_tiles);
      }
    }
  }
}

void sweep_tiles(const BandReduction& work, std::size_t column, std::size_t part) {
  work.pending ? sweep_part<true>(work, column, part) : sweep_part<false>(work, column, part);
}

/// Completes y_rows to A V: transposes and adds the contributions of the parts in y_tiles.
void gather_products(const BandReduction& work, std::size_t start) {
  HWY_ALIGN double sum[kTileSize];
  for (std::size_t tile = start; tile < work.tiles; ++tile) {
    std::copy_n(work.y_tiles + tile * kTileSize, kTileSize, sum);
    for (std::size_t part = 1; part < work.parts; ++part) {
      const double* other = work.y_tiles + (part * work.tiles + tile) * kTileSize;
      for (std::size_t at = 0; at < kTileSize; ++at) sum[at] += other[at];
    }
    double* y = work.y_rows + tile * kTileSize;
    for (std::size_t row = 0; row < kTile; ++row) {
      for (std::size_t at = 0; at < kTile; ++at) y[row * kTile + at] += sum[at * kTile + row];
    }
  }
}

/// Computes s = −½ Tᵀ M T, with M = Vᵀ A V symmetric; all (kTile, kTile).
void symmetric_correction(const double* t, const double* m, double* s) {
  double product[kTileSize];
  for (std::size_t row = 0; row < kTile; ++row) {
    for (std::size_t column = 0; column < kTile; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k <= row; ++k) {
        sum += t[k * kTile + row] * (m[column * kTile + k] + m[k * kTile + column]) / 2;
      }
      product[row * kTile + column] = sum;
    }
  }
  for (std::size_t row = 0; row < kTile; ++row) {
    for (std::size_t column = 0; column < kTile; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k <= column; ++k) {
        sum += product[row * kTile + k] * t[k * kTile + column];
      }
      s[row * kTile + column] = -sum / 2;
    }
  }
}

void finish_tile_column(BandReduction& work, std::size_t column) {
  const std::size_t start = column + 1, rows = work.tiles * kTile;
  gather_products(work, start);
  HWY_ALIGN double m[kTileSize] = {}, s[kTileSize];
  add_inner_products<kTile>(work.v + start * kTileSize, work.y_rows + start * kTileSize,
                            rows - start * kTile, m);
  symmetric_correction(work.t, m, s);

  // W = Y T + V s.
  for (std::size_t row = start * kTile; row < rows; row += kColumns) {
    for (std::size_t line = row; line < row + kColumns; ++line) {
      double* out = work.right + line * kPair;
      std::fill(out, out + kTile, 0.0);
      std::copy_n(work.v + line * kTile, kTile, out + kTile);
    }
    Operands in = {.left = work.t,
                   .left_step = kTile,
                   .right = work.y_rows + row * kTile,
                   .right_depth = 1,
                   .right_column = kTile,
                   .depth = kTile};
    multiply_rows</*kSubtract=*/false>(in, work.right + row * kPair, kPair);
    in.left = s;
    in.right = work.v + row * kTile;
    multiply_rows</*kSubtract=*/false>(in, work.right + row * kPair, kPair);
  }
  for (std::size_t tile = start; tile < work.tiles; ++tile) {
    double* left = work.left + tile * kTile * kPair;
    for (std::size_t row = 0; row < kTile; ++row) {
      const double* right = work.right + (tile * kTile + row) * kPair;
      for (std::size_t at = 0; at < kTile; ++at) {
        left[at * kTile + row] = right[kTile + at];
        left[(kTile + at) * kTile + row] = right[at];
      }
    }
  }
  work.pending = true;
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(factor_tile_column);
HWY_EXPORT(sweep_tiles);
HWY_EXPORT(finish_tile_column);

void factor_tile_column(Kernels kernels, BandReduction& work, std::size_t column) {
  ATTNSCOPE_KERNEL(kernels, factor_tile_column)(work, column);
}

void sweep_tiles(Kernels kernels, const BandReduction& work, std::size_t column, std::size_t part) {
  ATTNSCOPE_KERNEL(kernels, sweep_tiles)(work, column, part);
}

void finish_tile_column(Kernels kernels, BandReduction& work, std::size_t column) {
  ATTNSCOPE_KERNEL(kernels, finish_tile_column)(work, column);
}

}  // namespace attnscope::kernels
#endif
