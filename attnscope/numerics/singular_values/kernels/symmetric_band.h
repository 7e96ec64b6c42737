// A symmetric matrix in tiles → a band of width kTile.
#pragma once

#include <cstddef>

#include "attnscope/numerics/instruction_set.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

/// The band lies in columns of kBandStep: element (row, column) at column * kBandStep + row −
/// column. Only kTile + 1 are filled; the chase needs the rest, and kBandMargin columns of zeros
/// after the last.
inline constexpr std::size_t kBandStep = 2 * kTile + 8;
inline constexpr std::size_t kBandMargin = 2 * kTile;

/// The state of one reduction; all arrays are the caller's and start as zeros.
struct BandReduction {
  std::size_t tiles = 0;
  std::size_t parts = 1;  // into which a sweep is cut, whatever the number of threads
  double* triangle = nullptr;
  double* v = nullptr;        // (tiles * kTile, kTile) rows: the panel, then its reflectors
  double* y_rows = nullptr;   // (tiles * kTile, kTile) rows: what columns of tiles give of A V
  double* y_tiles = nullptr;  // (parts, tiles) tiles: what rows of tiles give of it
  double* left = nullptr;     // tiles × (kTile, 2 kTile) column-major: [V W] of the pending update
  double* right = nullptr;    // (tiles * kTile, 2 kTile) rows: [W V]
  double* band = nullptr;     // (tiles * kTile + kBandMargin) * kBandStep
  bool pending = false;
  double t[kTileSize] = {};  // of the panel's reflectors, I − V T Vᵀ
};

/// Column `column` of tiles gets the pending update, and its part below the diagonal is factored:
/// R goes to the band, the reflectors to `v`. The last column is only stored.
void factor_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

/// Part `part` of the sweep behind tile column `column`: the pending update of every tile, and at
/// once its product with the new reflectors, so that each tile is read and written once.
void sweep_tiles(Kernels kernels, const BandReduction& work, std::size_t column, std::size_t part);

/// The two-sided update that the sweep's products ask for becomes the pending one.
void finish_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

}  // namespace attnscope::kernels
