// The kernels written by hand, each compiled once for every instruction set that is worth it and
// chosen when the program starts. What they do is tested against LAPACK; where the CPU has none of
// these instruction sets nothing here may be called, and LAPACK does the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attnscope/core/matrix_view.h"

namespace attnscope::kernels {

/// Symmetric matrices lie in square tiles of this side, each contiguous and column-major. Small
/// enough to be cheap for the chase, a multiple of every register's lanes.
inline constexpr std::size_t kTile = 24;
inline constexpr std::size_t kTileSize = kTile * kTile;

/// "AVX-512", "AVX2", "NEON", or "none". ATTNSCOPE_KERNELS=avx2 or none in the environment holds
/// it down, for tests and comparisons; throws for any other value but nothing.
std::string_view instruction_set();

/// Whether there are kernels for this CPU.
bool available();

/// The lower triangle of a symmetric matrix of `tiles` × kTile rows: one panel of kTile rows after
/// the other, panel i with the tiles (i, 0) … (i, i), the last one whole.
inline constexpr std::size_t panel_offset(std::size_t panel) {
  return kTileSize * (panel * (panel + 1) / 2);
}
inline constexpr std::size_t triangle_size(std::size_t tiles) { return panel_offset(tiles); }

/// The largest magnitude in a matrix of finite elements; 0 for an empty one.
float largest_magnitude(MatrixView<const float> matrix);
double largest_magnitude(MatrixView<const double> matrix);

// ------------------------------------------------------------------ Gram matrix

/// Columns of the factor that are packed at once: many, since for each the whole triangle is read
/// and written.
inline constexpr std::size_t kGramDepth = 1024;

/// Panels [first, last) of `a` (rows, depth ≤ kGramDepth) times `scale` as float64:
/// packed[panel][column][kTile rows], rows beyond the matrix zero.
void pack_panels(MatrixView<const float> a, double scale, std::size_t first, std::size_t last,
                 double* packed);
void pack_panels(MatrixView<const double> a, double scale, std::size_t first, std::size_t last,
                 double* packed);

/// Adds packed · packedᵀ to panels [first, last) of `triangle`.
void add_gram(const double* packed, std::size_t depth, std::size_t first, std::size_t last,
              double* triangle);

/// The same for few rows whose elements lie together, without packing: lower (rows, rows) =
/// scale² a aᵀ, column-major, lower triangle. scratch: few_rows_scratch(rows).
inline constexpr std::size_t kFewRows = 128;
inline constexpr std::size_t kFewRowsStep = 512 + 8;  // rows do not fall on each other in the cache
inline constexpr std::size_t few_rows_scratch(std::size_t rows) {
  return (rows + 3) * kFewRowsStep;
}
void gram_of_few_rows(MatrixView<const float> a, double scale, double* scratch, double* lower);
void gram_of_few_rows(MatrixView<const double> a, double scale, double* scratch, double* lower);

// ------------------------------------------------------------------ Gram matrix, float32

/// Rows that are packed together, and the tiles that they make.
inline constexpr std::size_t kGroupTiles = 2;
inline constexpr std::size_t kGroup = kGroupTiles * kTile;
/// Products that are added up by themselves: sums over less are rounded less.
inline constexpr std::size_t kFloat32Chain = 32;

/// Rows of group `group` of `a` (rows, columns ≤ depth) times `scale`: packed[depth][kGroup], zero
/// where the matrix ends.
void pack_float32_group(MatrixView<const float> a, float scale, std::size_t group,
                        std::size_t depth, float* packed);

/// Adds packed · packedᵀ, summed in float32 over the depth, to the panels of groups [first, last)
/// of `triangle`. depth: a multiple of kFloat32Chain, at most kGramDepth. packed: groups one after
/// the other.
void add_float32_gram(const float* packed, std::size_t depth, std::size_t tiles, std::size_t first,
                      std::size_t last, double* triangle);

/// The same in float64, for the first column of tiles alone: adds to tiles (i, 0) of the panels of
/// those groups. samples: (tiles, kTileSize), tiles filled up to whole groups.
void add_float32_samples(const float* packed, std::size_t depth, std::size_t first,
                         std::size_t last, double* samples);

// ------------------------------------------------------------------ full → band

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
void factor_tile_column(BandReduction& work, std::size_t column);

/// Part `part` of the sweep behind tile column `column`: the pending update of every tile, and at
/// once its product with the new reflectors, so that each tile is read and written once.
void sweep_tiles(const BandReduction& work, std::size_t column, std::size_t part);

/// The two-sided update that the sweep's products ask for becomes the pending one.
void finish_tile_column(BandReduction& work, std::size_t column);

// ------------------------------------------------------------------ band → tridiagonal

/// Chases the band (destroyed) of order n, a multiple of kTile, to a tridiagonal matrix:
/// diagonal (n,), off_diagonal (n − 1,).
void chase_band(double* band, std::size_t n, double* diagonal, double* off_diagonal);

// ------------------------------------------------------------------ tridiagonal → values

/// A tridiagonal matrix of norm at most 1, its order even: off_squared[i] couples i − 1 and i; for
/// 0 < i it is not below 1e-36, but for a last row that was added and couples to nothing.
struct Tridiagonal {
  const double* diagonal;
  const double* off_squared;
  std::size_t order;
};

/// Points at which Sturm sequences run together.
inline constexpr std::size_t kPoints = 16;

/// The characteristic polynomial at points, as mantissa · 2^exponent, and how many eigenvalues lie
/// below each of them; (kPoints,).
void sturm_sequences(const Tridiagonal& matrix, const double* points, double* mantissa,
                     std::int64_t* exponent, std::int64_t* below);

/// Intervals that hold one eigenvalue each, what the polynomial is at their ends, and the number of
/// the eigenvalue; arrays of equal length.
struct Brackets {
  double *left, *right, *left_mantissa, *right_mantissa;
  std::int64_t *left_exponent, *right_exponent, *index;
  double* shift_factor;   // starts as kShift / width
  double* allowed_width;  // starts as 4 width; beyond it the next point is the middle
};
inline constexpr double kShift = 0.2;

/// Narrows `batches` (1, or 2, which cost less together) times kPoints brackets from `first` on,
/// `rounds` times, down to about `tolerance`.
void narrow_brackets(const Tridiagonal& matrix, const Brackets& brackets, std::size_t first,
                     std::size_t batches, int rounds, double tolerance);

// ------------------------------------------------------------------ dense → upper band, float32

/// Matrices of float32 lie in panels of this many rows, each with its columns one after the other;
/// both sides are filled up to multiples of it with zeros. Also the width of the band.
inline constexpr std::size_t kSide = 32;
inline constexpr std::size_t kSideSize = kSide * kSide;
/// Row panels that a part of sweep_rows takes, column tiles that one of sweep_columns takes.
inline constexpr std::size_t kSweepPanels = 2;
inline constexpr std::size_t kSweepTiles = 12;

/// The upper band lies in columns of kUpperStep: element (row, column) at column * kUpperStep +
/// kUpperDiagonal + row − column. The chase needs the rest, and kUpperMargin columns of zeros after
/// the last.
inline constexpr std::size_t kUpperStep = 3 * kSide + 16;
inline constexpr std::size_t kUpperDiagonal = 2 * kSide;
inline constexpr std::size_t kUpperMargin = 2 * kSide;

/// The state of one reduction; all arrays are the caller's.
struct TwoSidedReduction {
  std::size_t row_panels = 0, column_tiles = 0;  // no more column tiles than row panels
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
  double t[kSideSize] = {};          // of the column panel's reflectors, I − V T Vᵀ
  float correction[kSideSize] = {};  // −Wᵀ U S, column-major
};

/// Panel `panel` of `a` times `scale`, in kSide rows. squares (kSide,): the squared norms of its
/// rows.
void pack_row_panel(MatrixView<const float> a, float scale, std::size_t panel,
                    const TwoSidedReduction& work, double* squares);

/// Column panel `step` gets the pending update and is factored.
void factor_columns(TwoSidedReduction& work, std::size_t step);

/// The pending update of the columns right of panel `step`, and at once their products with its
/// reflectors; part `part` of column_parts().
void sweep_columns(const TwoSidedReduction& work, std::size_t step, std::size_t part);
inline constexpr std::size_t column_parts(const TwoSidedReduction& work, std::size_t step) {
  return (work.column_tiles - step - 1 + kSweepTiles - 1) / kSweepTiles;
}

/// The row panel `step`, right of the diagonal, is factored; there must be columns.
void factor_rows(TwoSidedReduction& work, std::size_t step);

/// Products of the rows below panel `step` with its reflectors, which completes the pending update;
/// part `part` of row_parts().
void sweep_rows(const TwoSidedReduction& work, std::size_t step, std::size_t part);
inline constexpr std::size_t row_parts(const TwoSidedReduction& work, std::size_t step) {
  return (work.row_panels - step - 1 + kSweepPanels - 1) / kSweepPanels;
}

// ------------------------------------------------------------------ upper band → bidiagonal

/// Chases the upper band (destroyed) of order n, a multiple of kSide, to a bidiagonal matrix:
/// diagonal (n,), off_diagonal (n − 1,).
void chase_upper_band(double* band, std::size_t n, double* diagonal, double* off_diagonal);

// ------------------------------------------------------------------ many small matrices

/// Small matrices are worked on lanes() at a time, one in each lane of every register, so that no
/// step needs a sum across lanes. Their order is a multiple of kBlock, filled up with zeros.
std::size_t lanes();
inline constexpr std::size_t kBlock = 4;

/// Rows of a matrix, (order, order): block b of kBlock rows at row_block_offset, as
/// [column][kBlock][lanes]. A lower triangular matrix keeps (b + 1) * kBlock columns of block b.
inline constexpr std::size_t row_block_offset(std::size_t block, std::size_t order, bool lower) {
  const std::size_t columns_before = lower ? kBlock * block * (block + 1) / 2 : block * order;
  return columns_before * kBlock;  // times lanes()
}

/// Lower triangle of a symmetric matrix of that order: block b of kBlock columns at
/// column_block_offset, rows b * kBlock … order − 1, as [row][kBlock][lanes]; the square block on
/// the diagonal is whole.
inline constexpr std::size_t column_block_offset(std::size_t block, std::size_t order) {
  // Blocks before it have order, order − kBlock, … rows.
  return kBlock * (block * order - kBlock * (block * (block - 1) / 2));  // times lanes()
}

/// The largest magnitudes at or below the diagonal of a matrix of finite elements, and above it.
struct Extents {
  double below, above;
};
Extents extents(MatrixView<const float> matrix);
Extents extents(MatrixView<const double> matrix);

/// One row of up to lanes() matrices, `columns` elements from each line, times its scale; `out` is
/// where the row begins in its block. Lanes without a line become zero.
void interleave_row(std::span<const float* const> lines, const double* scales, std::size_t columns,
                    double* out);
void interleave_row(std::span<const double* const> lines, const double* scales, std::size_t columns,
                    double* out);

/// triangle = rows · rowsᵀ, for lanes() matrices.
void interleaved_gram(const double* rows, std::size_t order, bool lower, double* triangle);

/// triangle (destroyed) → tridiagonal: diagonal and off_diagonal (order, lanes). Elements at most
/// about 1 in magnitude; couplings below 1e-20 count as zero. work: (kBlockWork * order, lanes).
inline constexpr std::size_t kBlockWork = 4 * kBlock + 2;
void interleaved_tridiagonal(double* triangle, std::size_t order, double* work, double* diagonal,
                             double* off_diagonal);

/// Groups of lanes() tridiagonal matrices whose eigenvalues are sought together: each step waits
/// for the one before, but not for those of other groups.
inline constexpr std::size_t kGroups = 4;

/// diagonal: (groups, order + 1, lanes), the last row of each group free, becomes the eigenvalues,
/// ascending; off_diagonal: the same, destroyed. groups: 1 … kGroups. False where LAPACK's limit of
/// sweeps does not do.
bool interleaved_eigenvalues(double* diagonal, double* off_diagonal, std::size_t order,
                             std::size_t groups);

}  // namespace attnscope::kernels
