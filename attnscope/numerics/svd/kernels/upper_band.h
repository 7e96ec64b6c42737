// A dense float32 matrix → an upper band.
#pragma once

#include <cstddef>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// float32 matrices are stored in panels of this many rows, each column-major. Both sides are
/// padded with zeros to multiples of it. Also the width of the band.
inline constexpr std::size_t kSide = 32;
inline constexpr std::size_t kSideSize = kSide * kSide;
/// Row panels in a part of sweep_rows; column tiles in a part of sweep_columns.
inline constexpr std::size_t kSweepPanels = 2;
inline constexpr std::size_t kSweepTiles = 12;

/// The upper band is stored in columns of kUpperStep: element (row, column) at column * kUpperStep
/// + kUpperDiagonal + row − column. The chase needs the other elements, and kUpperMargin columns of
/// zeros at the end.
inline constexpr std::size_t kUpperStep = 3 * kSide + 16;
inline constexpr std::size_t kUpperDiagonal = 2 * kSide;
inline constexpr std::size_t kUpperMargin = 2 * kSide;

/// The state of one reduction. The caller owns all arrays.
struct BidiagonalReduction {
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

/// Packs panel `panel` of `a`, times `scale`, in kSide rows. squares (kSide,): the squared norms of
/// its rows.
void pack_row_panel(Kernels kernels, MatrixView<const float> a, float scale, std::size_t panel,
                    const BidiagonalReduction& work, double* squares);

/// Applies the pending update to column panel `step` and factors it.
void factor_columns(Kernels kernels, BidiagonalReduction& work, std::size_t step);

/// Applies the pending update to the columns right of panel `step`, and multiplies them with its
/// reflectors in the same pass; part `part` of column_parts().
void sweep_columns(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                   std::size_t part);
inline constexpr std::size_t column_parts(const BidiagonalReduction& work, std::size_t step) {
  return (work.column_tiles - step - 1 + kSweepTiles - 1) / kSweepTiles;
}

/// Factors the row panel `step`, right of the diagonal; there must be columns.
void factor_rows(Kernels kernels, BidiagonalReduction& work, std::size_t step);

/// Multiplies the rows below panel `step` with its reflectors, which completes the pending update;
/// part `part` of row_parts().
void sweep_rows(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                std::size_t part);
inline constexpr std::size_t row_parts(const BidiagonalReduction& work, std::size_t step) {
  return (work.row_panels - step - 1 + kSweepPanels - 1) / kSweepPanels;
}

}  // namespace attnscope::kernels
