// A symmetric matrix in tiles → a band of width kTile, by two-sided block reflectors. The update
// of one panel waits for the next sweep, which applies it tile by tile and at once gathers what
// that panel's reflectors need: each tile is read and written once per panel.
// Source: Bischof, Lang & Sun, "A framework for symmetric band reduction", 2000.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/kernels/band.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attnscope/numerics/kernels/kernels.h"
#include "attnscope/numerics/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

constexpr std::size_t kRowVectors = kTile / kLanes;
constexpr std::size_t kPair = 2 * kTile;  // columns of [V W]
/// Rows that are summed by themselves, so that long sums keep their digits.
constexpr std::size_t kSumRows = 128;
/// A column whose squared norm is below counts as zero: its squares would have lost their digits,
/// and beside elements of order 1 it is nothing.
constexpr double kLeastSquare = 0x1p-900;
/// Columns of a row panel that stay in the first-level cache between the products of a sweep.
constexpr std::size_t kColumnsInCache = 4 * kTile;
/// Columns of tiles that a part takes at a time: what belongs to them stays in the second level.
constexpr std::size_t kTilesInCache = 8;

HWY_INLINE double* tile_at(const BandReduction& work, std::size_t row, std::size_t column) {
  return work.triangle + panel_offset(row) + column * kTileSize;
}

/// out (kTile, kTile) += leftᵀ · right, both (rows, kTile) row-major; out[column * kTile + row].
HWY_INLINE void add_inner_products(const double* left, const double* right, std::size_t rows,
                                   double* out) {
  for (std::size_t first = 0; first < rows; first += kSumRows) {
    multiply_tile</*kSubtract=*/false>({.left = left + first * kTile,
                                        .left_step = kTile,
                                        .right = right + first * kTile,
                                        .right_depth = kTile,
                                        .right_column = 1,
                                        .depth = std::min(kSumRows, rows - first)},
                                       out, kTile);
  }
}

// ------------------------------------------------------------------ QR of a panel

/// One column's reflector goes over the rows below it: row −= v w, where v (the row's entry in
/// `column` times `scale`) takes the place of that entry; products of the next column with every
/// other are gathered on the way. Registers before kFirst hold reflectors only and stay.
template <std::size_t kFirst>
void reflect_rows(double* rows, std::size_t count, std::size_t column, double scale,
                  const double* w, double* products) {
  const Doubles d;
  const std::size_t next = std::min(column + 1, kTile - 1);
  Vector weights[kRowVectors], total[kRowVectors];
#pragma GCC unroll 12
  for (std::size_t part = kFirst; part < kRowVectors; ++part) {
    weights[part] = hn::LoadU(d, w + part * kLanes);
    total[part] = hn::Zero(d);
  }
  for (std::size_t first = 0; first < count; first += kSumRows) {
    Vector sums[kRowVectors];
#pragma GCC unroll 12
    for (std::size_t part = kFirst; part < kRowVectors; ++part) sums[part] = hn::Zero(d);
    for (std::size_t row = first; row < std::min(first + kSumRows, count); ++row) {
      double* at = rows + row * kTile;
      const double v = at[column] * scale;
      const Vector minus_v = hn::Set(d, -v);
      Vector values[kRowVectors];
#pragma GCC unroll 12
      for (std::size_t part = kFirst; part < kRowVectors; ++part) {
        values[part] = hn::MulAdd(minus_v, weights[part], hn::LoadU(d, at + part * kLanes));
        hn::StoreU(values[part], d, at + part * kLanes);
      }
      at[column] = v;
      const Vector factor = hn::Set(d, at[next]);
#pragma GCC unroll 12
      for (std::size_t part = kFirst; part < kRowVectors; ++part) {
        sums[part] = hn::MulAdd(factor, values[part], sums[part]);
      }
    }
#pragma GCC unroll 12
    for (std::size_t part = kFirst; part < kRowVectors; ++part) {
      total[part] = hn::Add(total[part], sums[part]);
    }
  }
#pragma GCC unroll 12
  for (std::size_t part = kFirst; part < kRowVectors; ++part) {
    hn::StoreU(total[part], d, products + part * kLanes);
  }
}

template <std::size_t kFirst = 0>
void reflect_rows_from(std::size_t first, double* rows, std::size_t count, std::size_t column,
                       double scale, const double* w, double* products) {
  if constexpr (kFirst + 1 < kRowVectors) {
    if (first > kFirst) {
      reflect_rows_from<kFirst + 1>(first, rows, count, column, scale, w, products);
      return;
    }
  }
  reflect_rows<kFirst>(rows, count, column, scale, w, products);
}

/// T of I − V T Vᵀ (upper triangular, row-major) from the reflectors and their scales.
void fill_t(const double* v, std::size_t rows, const double* tau, double* t) {
  HWY_ALIGN double products[kTileSize] = {};
  add_inner_products(v, v, rows, products);
  std::fill(t, t + kTileSize, 0.0);
  for (std::size_t column = 0; column < kTile; ++column) {
    t[column * kTile + column] = tau[column];
    for (std::size_t row = 0; row < column; ++row) {
      double sum = 0;
      for (std::size_t k = row; k < column; ++k) {
        sum += t[row * kTile + k] * products[k * kTile + column];
      }
      t[row * kTile + column] = -tau[column] * sum;
    }
  }
}

/// The panel (rows ≥ kTile, kTile), row-major, becomes its reflectors, unit lower trapezoidal;
/// r (kTile, kTile) row-major.
void factor_panel(double* panel, std::size_t rows, double* r, double* t) {
  HWY_ALIGN double products[kTile] = {}, w[kTile] = {};
  double tau[kTile];
  // Products of the first column; each reflector gathers those of the next.
  for (std::size_t first = 0; first < rows; first += kSumRows) {
    double sums[kTile] = {};
    for (std::size_t row = first; row < std::min(first + kSumRows, rows); ++row) {
      const double* at = panel + row * kTile;
      for (std::size_t column = 0; column < kTile; ++column) sums[column] += at[0] * at[column];
    }
    for (std::size_t column = 0; column < kTile; ++column) products[column] += sums[column];
  }
  std::fill(r, r + kTileSize, 0.0);
  for (std::size_t column = 0; column < kTile; ++column) {
    double* row = panel + column * kTile;
    const double alpha = row[column];
    double beta = alpha, scale = 0;
    tau[column] = 0;
    std::fill(w, w + kTile, 0.0);
    if (products[column] > kLeastSquare) {
      const double norm = std::sqrt(products[column]);
      beta = alpha > 0 ? -norm : norm;
      tau[column] = (beta - alpha) / beta;
      scale = 1 / (alpha - beta);
      for (std::size_t right = column + 1; right < kTile; ++right) {
        w[right] = row[right] - products[right] / beta;
      }
    }
    r[column * kTile + column] = beta;
    row[column] = 1;
    for (std::size_t right = column + 1; right < kTile; ++right) {
      r[column * kTile + right] = row[right] - w[right];
      row[right] = 0;
    }
    if (column + 1 < rows) {
      reflect_rows_from(column / kLanes, row + kTile, rows - column - 1, column, scale, w,
                        products);
    }
  }
  fill_t(panel, rows, tau, t);
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
  factor_panel(work.v + (column + 1) * kTileSize, (work.tiles - column - 1) * kTile, r, work.t);
  store_band(work, column, r);
}

/// Columns [first, last) of row panel `panel`.
template <bool kPending, bool kDiagonal>
HWY_INLINE void sweep_columns(const BandReduction& work, std::size_t panel, std::size_t first,
                              std::size_t last, double* y_tiles) {
  double* columns = work.triangle + panel_offset(panel);
  for (std::size_t column = first; column < last; column += kColumns) {
    double* at = columns + column * kTile;
    if constexpr (kPending) {
      multiply_rows</*kSubtract=*/true>({.left = work.left + panel * kTile * kPair,
                                         .left_step = kTile,
                                         .right = work.right + column * kPair,
                                         .right_depth = 1,
                                         .right_column = kPair,
                                         .depth = kPair},
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

/// y_rows becomes A V: what the parts gathered in tiles is transposed and added.
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

/// s = −½ Tᵀ M T, M = Vᵀ A V symmetric; all (kTile, kTile).
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
  add_inner_products(work.v + start * kTileSize, work.y_rows + start * kTileSize,
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

void factor_tile_column(BandReduction& work, std::size_t column) {
  HWY_DYNAMIC_DISPATCH(factor_tile_column)(work, column);
}

void sweep_tiles(const BandReduction& work, std::size_t column, std::size_t part) {
  HWY_DYNAMIC_DISPATCH(sweep_tiles)(work, column, part);
}

void finish_tile_column(BandReduction& work, std::size_t column) {
  HWY_DYNAMIC_DISPATCH(finish_tile_column)(work, column);
}

}  // namespace attnscope::kernels
#endif
