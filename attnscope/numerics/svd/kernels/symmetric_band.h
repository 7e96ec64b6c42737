// A symmetric matrix in tiles → a band of width kTile.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

/// The band is stored in columns of kBandStep: element (row, column) at column * kBandStep + row −
/// column. kTile + 1 elements of a column are filled; the chase needs the others, and kBandMargin
/// columns of zeros at the end.
inline constexpr std::size_t kBandStep = 2 * kTile + 8;
inline constexpr std::size_t kBandMargin = 2 * kTile;

/// The state of one reduction. The caller owns all arrays and sets them to zero first.
struct BandReduction {
  std::size_t tiles = 0;
  std::size_t parts = 1;  // parts of a sweep, independent of the number of threads
  double* triangle = nullptr;
  double* v = nullptr;        // (tiles * kTile, kTile) rows: the panel, then its reflectors
  double* y_rows = nullptr;   // (tiles * kTile, kTile) rows: contribution of tile columns to A V
  double* y_tiles = nullptr;  // (parts, tiles) tiles: contribution of tile rows to A V
  double* left = nullptr;     // tiles × (kTile, 2 kTile) column-major: [V W] of the pending update
  double* right = nullptr;    // (tiles * kTile, 2 kTile) rows: [W V]
  double* band = nullptr;     // (tiles * kTile + kBandMargin) * kBandStep
  bool pending = false;
  double t[kTileSize] = {};  // of the panel's reflectors, I − V T Vᵀ
};

/// Applies the pending update to tile column `column`, and factors its part below the diagonal: R
/// goes to the band, the reflectors to `v`. The last column is only stored.
void factor_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

/// Runs part `part` of the sweep after tile column `column`: updates every tile and multiplies it
/// with the new reflectors in one pass, so that each tile is read and written once.
void sweep_tiles(Kernels kernels, const BandReduction& work, std::size_t column, std::size_t part);

/// Makes the two-sided update that follows from the sweep's products the pending one.
void finish_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

}  // namespace attnscope::kernels
