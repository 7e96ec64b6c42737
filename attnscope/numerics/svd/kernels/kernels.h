// Kernels of singular values: reductions to band, bidiagonal and tridiagonal form, and the
// eigenvalues of tridiagonal matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/kernels/tiles.h"

namespace attnscope::kernels {

// The products of numerics/products/kernels in float32, which takes half the time, and a sample of
// them in float64.

/// Number of rows that are packed together, and of tiles in such a group.
inline constexpr std::size_t kGroupTiles = 2;
inline constexpr std::size_t kGroup = kGroupTiles * kTile;
/// Number of products per partial sum: shorter sums have smaller rounding errors.
inline constexpr std::size_t kFloat32Chain = 32;

/// Packs the rows of group `group` of `a` (rows, columns ≤ depth) times `scale`:
/// packed[depth][kGroup], zero beyond the matrix.
void pack_float32_group(Kernels kernels, MatrixView<const float> a, float scale, std::size_t group,
                        std::size_t depth, float* packed);

/// Adds packed · packedᵀ, summed in float32 over the depth, to the panels of groups [first, last)
/// of `triangle`. `depth`: a multiple of kFloat32Chain, at most kGramDepth. `packed`: groups one
/// after the other.
void add_float32_products(Kernels kernels, const float* packed, std::size_t depth,
                          std::size_t tiles, std::size_t first, std::size_t last, double* triangle);

/// Does the same in float64, for the first column of tiles only: adds to tiles (i, 0) of the panels
/// of these groups. samples: (tiles, kTileSize), with tiles rounded up to whole groups.
void add_float32_samples(Kernels kernels, const float* packed, std::size_t depth, std::size_t first,
                         std::size_t last, double* samples);

// Reduction of a symmetric matrix in tiles to a band of width kTile.

/// The band is stored in columns of kBandStep elements: element (row, column) is at column *
/// kBandStep + row − column. kTile + 1 elements of a column are filled. The chase uses the others,
/// and kBandMargin columns of zeros at the end.
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
  double t[kTileSize] = {};  // T of the panel's reflectors, I − V T Vᵀ
};

/// Applies the pending update to tile column `column`, and factors its part below the diagonal. R
/// goes to the band, and the reflectors to `v`. The last column is only stored.
void factor_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

/// Runs part `part` of the sweep after tile column `column`. In one pass, it updates every tile and
/// multiplies it with the new reflectors, so that each tile is read and written once.
void sweep_tiles(Kernels kernels, const BandReduction& work, std::size_t column, std::size_t part);

/// Sets the two-sided update from the sweep's products as the pending one.
void finish_tile_column(Kernels kernels, BandReduction& work, std::size_t column);

// Reduction of a dense float32 matrix to an upper band.

/// Number of rows of a panel of a float32 matrix, each column-major; also the width of the band.
/// Both dimensions are padded with zeros to multiples of it.
inline constexpr std::size_t kSide = 32;
inline constexpr std::size_t kSideSize = kSide * kSide;
/// Number of row panels per part of sweep_rows(), and of column tiles per part of sweep_columns().
inline constexpr std::size_t kSweepPanels = 2;
inline constexpr std::size_t kSweepTiles = 12;

/// The upper band is stored in columns of kUpperStep elements: element (row, column) is at column *
/// kUpperStep + kUpperDiagonal + row − column. The chase uses the other elements, and kUpperMargin
/// columns of zeros at the end.
inline constexpr std::size_t kUpperStep = 3 * kSide + 16;
inline constexpr std::size_t kUpperDiagonal = 2 * kSide;
inline constexpr std::size_t kUpperMargin = 2 * kSide;

/// The state of one reduction. The caller owns all arrays.
struct BidiagonalReduction {
  std::size_t row_panels = 0, column_tiles = 0;  // column_tiles ≤ row_panels
  float* matrix = nullptr;  // row_panels × (kSide, column_tiles * kSide) column-major
  double* v = nullptr;      // (rows, kSide) rows: a column panel, then its reflectors
  double* y = nullptr;      // (columns, kSide) rows: Aᵀ V
  double* w = nullptr;      // (columns, kSide) rows: Y T
  double* u = nullptr;      // (columns, kSide) rows: a row panel's transpose, then its reflectors
  double* scaled_u = nullptr;  // (columns, kSide) rows: U S
  float* v_rows = nullptr;     // V rounded
  float* u_rows = nullptr;     // U S rounded
  float* left = nullptr;  // row_panels × (kSide, 2 kSide) column-major: [V Z] of the pending update
  float* right = nullptr;  // (columns, 2 kSide) rows: [W U]
  double* band = nullptr;  // (columns + kUpperMargin) * kUpperStep, zeros at first
  bool pending = false;
  double t[kSideSize] = {};          // T of the column panel's reflectors, I − V T Vᵀ
  float correction[kSideSize] = {};  // −Wᵀ U S, column-major
};

/// Packs panel `panel` of `a`, times `scale`, in kSide rows. squares (kSide,): the squared norms of
/// its rows.
void pack_row_panel(Kernels kernels, MatrixView<const float> a, float scale, std::size_t panel,
                    const BidiagonalReduction& work, double* squares);

/// Applies the pending update to column panel `step` and factors it.
void factor_columns(Kernels kernels, BidiagonalReduction& work, std::size_t step);

/// Applies the pending update to the columns right of panel `step`, and multiplies them with its
/// reflectors in the same pass. Processes part `part` of column_parts().
void sweep_columns(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                   std::size_t part);
inline constexpr std::size_t column_parts(const BidiagonalReduction& work, std::size_t step) {
  return (work.column_tiles - step - 1 + kSweepTiles - 1) / kSweepTiles;
}

/// Factors the row panel `step`, right of the diagonal. There must be such columns.
void factor_rows(Kernels kernels, BidiagonalReduction& work, std::size_t step);

/// Multiplies the rows below panel `step` with its reflectors, which completes the pending update.
/// Processes part `part` of row_parts().
void sweep_rows(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                std::size_t part);
inline constexpr std::size_t row_parts(const BidiagonalReduction& work, std::size_t step) {
  return (work.row_panels - step - 1 + kSweepPanels - 1) / kSweepPanels;
}

// Shared by both bulge chases.

/// Number of sweeps that run at the same time, each two blocks behind the previous one, so that
/// they are independent. A part of the band is thus processed eight times while it is in the cache.
inline constexpr std::size_t kSweeps = 8;

// Reduction of a symmetric band to a tridiagonal matrix.

/// Runs sweeps [first, last) of the chase from a band of order n, a multiple of kTile, to a
/// tridiagonal matrix. There is one sweep for each of the first n − 1 columns, in order. `first`
/// must be a multiple of kSweeps; `last` too, or n − 1. After the last sweep, the tridiagonal
/// matrix is in the first two rows of the band.
void chase_to_tridiagonal(Kernels kernels, double* band, std::size_t n, std::size_t first,
                          std::size_t last);

// Reduction of an upper band to a bidiagonal matrix.

/// Runs sweeps [first, last) of the chase from an upper band of order n, a multiple of kSide, to a
/// bidiagonal matrix. There is one sweep for each of the first n − 1 rows, in order. `first` must
/// be a multiple of kSweeps; `last` too, or n − 1. After the last sweep, the bidiagonal matrix is
/// on the diagonal and above it.
void chase_upper_band(Kernels kernels, double* band, std::size_t n, std::size_t first,
                      std::size_t last);

// Eigenvalues of tridiagonal matrices by Sturm sequences.

/// A tridiagonal matrix of norm at most 1 and even order. off_squared[i] couples rows i − 1 and i.
/// For i > 0 it is at least 1e-36, except for an uncoupled padding row at the end.
struct Tridiagonal {
  const double* diagonal;
  const double* off_squared;
  std::size_t order;
};

/// Number of points that are evaluated together.
inline constexpr std::size_t kPoints = 16;

/// Evaluates the characteristic polynomial at `points`, as mantissa · 2^exponent, and counts the
/// eigenvalues below each point. All arrays are (kPoints,).
void sturm_sequences(Kernels kernels, const Tridiagonal& matrix, const double* points,
                     double* mantissa, std::int64_t* exponent, std::int64_t* below);

/// Intervals with one eigenvalue each, the polynomial at their ends, and the eigenvalue's index.
/// Arrays of equal length.
struct Brackets {
  double *left, *right, *left_mantissa, *right_mantissa;
  std::int64_t *left_exponent, *right_exponent, *index;
  double* shift_factor;   // starts as kShift / width
  double* allowed_width;  // starts as 4 width; a wider bracket is bisected next
};
inline constexpr double kShift = 0.2;

/// Narrows `batches` · kPoints brackets from `first` on, in `rounds` rounds, to about `tolerance`.
/// `batches` is 1 or 2; two together cost less than one by one.
void narrow_brackets(Kernels kernels, const Tridiagonal& matrix, const Brackets& brackets,
                     std::size_t first, std::size_t batches, int rounds, double tolerance);

// Many small matrices at the same time: their Gram matrices, and the reduction to tridiagonal form.

/// Returns the number of small matrices that are processed together, one per lane of every
/// register, so that no step needs a sum across lanes. Their order is a multiple of kBlock, padded
/// with zeros.
std::size_t lanes(Kernels kernels);
inline constexpr std::size_t kBlock = 4;

/// Returns the offset of block b of kBlock rows of a matrix (order, order), stored as
/// [column][kBlock][lanes]. A lower triangular matrix stores (b + 1) * kBlock columns of block b.
inline constexpr std::size_t row_block_offset(std::size_t block, std::size_t order, bool lower) {
  const std::size_t columns_before = lower ? kBlock * block * (block + 1) / 2 : block * order;
  return columns_before * kBlock;  // times lanes()
}

/// Returns the offset of block b of kBlock columns in the lower triangle of a symmetric matrix. It
/// has rows b * kBlock … order − 1, stored as [row][kBlock][lanes]. The square block on the
/// diagonal is stored completely.
inline constexpr std::size_t column_block_offset(std::size_t block, std::size_t order) {
  // Earlier blocks have order, order − kBlock, … rows.
  return kBlock * (block * order - kBlock * (block * (block - 1) / 2));  // times lanes()
}

/// Largest magnitudes at or below the diagonal of a matrix of finite elements, and above it.
struct Extents {
  double below, above;
};
Extents extents(Kernels kernels, MatrixView<const float> matrix);
Extents extents(Kernels kernels, MatrixView<const double> matrix);

/// Interleaves one row of up to lanes() matrices: `columns` elements from each line, times its
/// scale. `out` is the start of the row in its block. Lanes without a line become zero.
void interleave_row(Kernels kernels, std::span<const float* const> lines, const double* scales,
                    std::size_t columns, double* out);
void interleave_row(Kernels kernels, std::span<const double* const> lines, const double* scales,
                    std::size_t columns, double* out);

/// Computes triangle = rows · rowsᵀ for lanes() matrices.
void batched_gram(Kernels kernels, const double* rows, std::size_t order, bool lower,
                  double* triangle);

/// Reduces `triangle` (destroyed) to tridiagonal form: diagonal and off_diagonal (order, lanes).
/// Elements must be at most about 1 in magnitude. Couplings below 1e-20 count as zero. work:
/// (kBlockWork * order, lanes).
inline constexpr std::size_t kBlockWork = 4 * kBlock + 2;
void batched_tridiagonal(Kernels kernels, double* triangle, std::size_t order, double* work,
                         double* diagonal, double* off_diagonal);

// Eigenvalues of many small tridiagonal matrices at once.

/// Maximum number of groups of lanes() tridiagonal matrices that are solved together. Each step
/// depends on the previous one of its group, but not on other groups.
inline constexpr std::size_t kGroups = 4;

/// Computes eigenvalues. `diagonal`: (groups, order + 1, lanes), with the last row of each group
/// unused; replaced by the eigenvalues, ascending. `off_diagonal`: same shape, destroyed. `groups`:
/// 1 … kGroups. Returns false if LAPACK's limit of sweeps is exceeded.
bool batched_eigenvalues(Kernels kernels, double* diagonal, double* off_diagonal, std::size_t order,
                         std::size_t groups);

}  // namespace attnscope::kernels
