// Reduces a dense float32 matrix to an upper band of width kSide by block reflectors from both
// sides. Panels are factored in float64. The matrix is updated in float32, once per step. Its long
// sums are added in short float32 chains, then in float64, which keeps them accurate. Source:
// Großer & Lang, "Efficient parallel reduction to bidiagonal form", 1999.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/upper_band.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"
#include "attnscope/numerics/svd/kernels/float32_panels-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/panel_qr-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

HWY_INLINE float* panel_at(const BidiagonalReduction& work, std::size_t panel) {
  return work.matrix + panel * work.column_tiles * kSideSize;
}

HWY_INLINE double* band_at(const BidiagonalReduction& work, std::size_t row, std::size_t column) {
  return work.band + column * kUpperStep + kUpperDiagonal + row - column;
}

/// Computes out (kSide, kSide) = inᵀ.
template <class From, class To>
HWY_INLINE void transpose_tile(const From* HWY_RESTRICT in, To* HWY_RESTRICT out) {
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column < kSide; ++column) {
      out[row * kSide + column] = static_cast<To>(in[column * kSide + row]);
    }
  }
}

/// Adds `in` to `out`.
HWY_INLINE void add_to(const float* HWY_RESTRICT in, std::size_t count, double* HWY_RESTRICT out) {
  for (std::size_t at = 0; at < count; ++at) out[at] += static_cast<double>(in[at]);
}

template <class From, class To>
HWY_INLINE void convert(const From* HWY_RESTRICT in, std::size_t count, To* HWY_RESTRICT out) {
  for (std::size_t at = 0; at < count; ++at) out[at] = static_cast<To>(in[at]);
}

/// Computes out (rows, kSide) = in (rows, kSide) · factor (kSide, kSide), all row-major.
void multiply_from_right(const double* in, const double* factor, std::size_t rows, double* out) {
  constexpr std::size_t kStep = Strip<kSide>::kColumns;
  std::fill(out, out + rows * kSide, 0.0);
  for (std::size_t row = 0; row < rows; row += kStep) {
    multiply_rows</*kSubtract=*/false, kSide>({.left = factor,
                                               .left_step = kSide,
                                               .right = in + row * kSide,
                                               .right_depth = 1,
                                               .right_column = kSide,
                                               .depth = kSide},
                                              out + row * kSide, kSide);
  }
}

// ------------------------------------------------------------------ steps of the reduction

void pack_side_panel(MatrixView<const float> a, float scale, std::size_t panel,
                     const BidiagonalReduction& work, double* squares) {
  const auto rows = static_cast<std::size_t>(a.rows), columns = static_cast<std::size_t>(a.cols);
  const std::size_t filled = std::min(kSide, rows - std::min(rows, panel * kSide));
  const float* from = a.data + static_cast<std::int64_t>(panel * kSide) * a.row_stride;
  float* out = panel_at(work, panel);
  std::fill(squares, squares + kSide, 0.0);
  // Processes strips of several tiles, because a row-major matrix is read along its rows.
  constexpr std::size_t kStrip = 4 * kSide;
  for (std::size_t first = 0; first < work.column_tiles * kSide; first += kStrip) {
    float* strip = out + first * kSide;
    const std::size_t width = std::min(kStrip, work.column_tiles * kSide - first);
    const std::size_t count = std::min(width, columns - first);
    if (count < width || filled < kSide) std::fill(strip, strip + width * kSide, 0.0F);
    for (std::size_t row = 0; row < filled; ++row) {
      const float* source = from + static_cast<std::int64_t>(row) * a.row_stride +
                            static_cast<std::int64_t>(first) * a.col_stride;
      for (std::size_t column = 0; column < count; ++column) {
        strip[column * kSide + row] =
            scale * source[static_cast<std::int64_t>(column) * a.col_stride];
      }
    }
    for (std::size_t column = 0; column < width; ++column) {
      for (std::size_t row = 0; row < kSide; ++row) {
        const auto value = static_cast<double>(strip[column * kSide + row]);
        squares[row] += value * value;
      }
    }
  }
}

void factor_column_panel(BidiagonalReduction& work, std::size_t step) {
  for (std::size_t panel = step; panel < work.row_panels; ++panel) {
    float* tile = panel_at(work, panel) + step * kSideSize;
    if (work.pending) {
      for_column_groups(kSide, [&](std::size_t column, auto columns) HWY_ATTR {
        subtract_product<columns.value>(
            {.left = work.left + panel * kSide * kPair,
             .right = work.right + (step * kSide + column) * kPair,
             .right_depth = 1,
             .right_column = kPair,
             .next = tile + work.column_tiles * kSideSize + column * kSide},
            tile + column * kSide);
      });
    }
    transpose_tile(tile, work.v + panel * kSideSize);
  }
  HWY_ALIGN double r[kSideSize];
  const std::size_t rows = (work.row_panels - step) * kSide;
  double* v = work.v + step * kSideSize;
  factor_panel<kSide>(v, rows, r, work.t);
  convert(v, rows * kSide, work.v_rows + step * kSideSize);
  for (std::size_t column = 0; column < kSide; ++column) {
    for (std::size_t row = 0; row <= column; ++row) {
      *band_at(work, step * kSide + row, step * kSide + column) = r[row * kSide + column];
    }
  }
}

template <bool kPending>
void sweep_column_block(const BidiagonalReduction& work, std::size_t step, std::size_t first,
                        std::size_t last) {
  HWY_ALIGN float sums[kSweepTiles * kSideSize];
  double* y = work.y + first * kSideSize;
  const std::size_t count = (last - first) * kSide;
  std::fill(y, y + count * kSide, 0.0);
  for (std::size_t start = step; start < work.row_panels; start += kSumPanels) {
    std::fill(sums, sums + count * kSide, 0.0F);
    const std::size_t end = std::min(start + kSumPanels, work.row_panels);
    for (std::size_t panel = start; panel < end; ++panel) {
      for_column_groups(count, [&](std::size_t column, auto columns) HWY_ATTR {
        float* at = panel_at(work, panel) + first * kSideSize + column * kSide;
        if constexpr (kPending) {
          subtract_product<columns.value>({.left = work.left + panel * kSide * kPair,
                                           .right = work.right + (first * kSide + column) * kPair,
                                           .right_depth = 1,
                                           .right_column = kPair,
                                           .next = at + kGroupsAhead * kFloatColumns * kSide},
                                          at);
        }
        add_product<columns.value, kSide>(
            {.left = work.v_rows + panel * kSideSize,
             .right = at,
             .right_depth = 1,
             .right_column = kSide,
             .next = work.right + (first * kSide + column + kFloatColumns) * kPair},
            sums + column * kSide);
      });
    }
    add_to(sums, count * kSide, y);
  }
}

void sweep_column_part(const BidiagonalReduction& work, std::size_t step, std::size_t part) {
  const std::size_t first = step + 1 + part * kSweepTiles;
  const std::size_t last = std::min(first + kSweepTiles, work.column_tiles);
  work.pending ? sweep_column_block<true>(work, step, first, last)
               : sweep_column_block<false>(work, step, first, last);
}

/// Extracts the row panel right of the diagonal, transposed, after applying the reflectors of its
/// column panel.
void take_row_panel(const BidiagonalReduction& work, std::size_t step) {
  constexpr std::size_t kStep = Strip<kSide>::kColumns;
  HWY_ALIGN double v[kSideSize];
  transpose_tile(work.v + step * kSideSize, v);
  const std::size_t start = (step + 1) * kSide, columns = work.column_tiles * kSide;
  convert(panel_at(work, step) + start * kSide, (columns - start) * kSide, work.u + start * kSide);
  for (std::size_t column = start; column < columns; column += kStep) {
    multiply_rows</*kSubtract=*/true, kSide>({.left = v,
                                              .left_step = kSide,
                                              .right = work.w + column * kSide,
                                              .right_depth = 1,
                                              .right_column = kSide,
                                              .depth = kSide},
                                             work.u + column * kSide, kSide);
  }
}

void factor_row_panel(BidiagonalReduction& work, std::size_t step) {
  const std::size_t start = (step + 1) * kSide, columns = work.column_tiles * kSide - start;
  multiply_from_right(work.y + start * kSide, work.t, columns, work.w + start * kSide);
  take_row_panel(work, step);
  HWY_ALIGN double r[kSideSize];
  HWY_ALIGN double s[kSideSize];
  HWY_ALIGN double products[kSideSize] = {};
  factor_panel<kSide>(work.u + start * kSide, columns, r, s);
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      *band_at(work, step * kSide + row, start + column) = r[column * kSide + row];
    }
  }
  multiply_from_right(work.u + start * kSide, s, columns, work.scaled_u + start * kSide);
  convert(work.scaled_u + start * kSide, columns * kSide, work.u_rows + start * kSide);
  add_inner_products<kSide>(work.w + start * kSide, work.scaled_u + start * kSide, columns,
                            products);
  for (std::size_t at = 0; at < kSideSize; ++at) {
    work.correction[at] = static_cast<float>(-products[at]);
  }
  for (std::size_t column = start; column < start + columns; ++column) {
    convert(work.w + column * kSide, kSide, work.right + column * kPair);
    convert(work.u + column * kSide, kSide, work.right + column * kPair + kSide);
  }
  work.pending = true;
}

void sweep_row_part(const BidiagonalReduction& work, std::size_t step, std::size_t part) {
  HWY_ALIGN double z[kSweepPanels][kSideSize] = {};
  HWY_ALIGN float sums[kSweepPanels][kSideSize];
  const std::size_t first = step + 1 + part * kSweepPanels;
  const std::size_t last = std::min(first + kSweepPanels, work.row_panels);
  const std::size_t columns = work.column_tiles * kSide;
  for (std::size_t start = (step + 1) * kSide; start < columns; start += kSumColumns) {
    std::fill(&sums[0][0], &sums[0][0] + kSweepPanels * kSideSize, 0.0F);
    const std::size_t end = std::min(start + kSumColumns, columns);
    // Processes one chain at a time for all panels, so that its operands stay in the L1 cache.
    for (std::size_t chain = start; chain < end; chain += kChain) {
      for (std::size_t panel = first; panel < last; ++panel) {
        const float* left = panel_at(work, panel) + chain * kSide;
        for_column_groups(kSide, [&](std::size_t out, auto outs) HWY_ATTR {
          add_product<outs.value, kChain>({.left = left,
                                           .right = work.u_rows + chain * kSide + out,
                                           .right_depth = kSide,
                                           .right_column = 1,
                                           .next = left + kChain * kSide + out * kChain},
                                          sums[panel - first] + out * kSide);
        });
      }
    }
    for (std::size_t panel = first; panel < last; ++panel) {
      add_to(sums[panel - first], kSideSize, z[panel - first]);
    }
  }
  for (std::size_t panel = first; panel < last; ++panel) {
    float* left = work.left + panel * kSide * kPair;
    transpose_tile(work.v_rows + panel * kSideSize, left);
    std::fill(sums[0], sums[0] + kSideSize, 0.0F);
    for_column_groups(kSide, [&](std::size_t out, auto outs) HWY_ATTR {
      add_product<outs.value, kSide>({.left = left,
                                      .right = work.correction + out * kSide,
                                      .right_depth = 1,
                                      .right_column = kSide,
                                      .next = left},
                                     sums[0] + out * kSide);
    });
    add_to(sums[0], kSideSize, z[panel - first]);
    convert(z[panel - first], kSideSize, left + kSideSize);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(pack_side_panel);
HWY_EXPORT(factor_column_panel);
HWY_EXPORT(sweep_column_part);
HWY_EXPORT(factor_row_panel);
HWY_EXPORT(sweep_row_part);

void pack_row_panel(Kernels kernels, MatrixView<const float> a, float scale, std::size_t panel,
                    const BidiagonalReduction& work, double* squares) {
  ATTNSCOPE_KERNEL(kernels, pack_side_panel)(a, scale, panel, work, squares);
}

void factor_columns(Kernels kernels, BidiagonalReduction& work, std::size_t step) {
  ATTNSCOPE_KERNEL(kernels, factor_column_panel)(work, step);
}

void sweep_columns(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                   std::size_t part) {
  ATTNSCOPE_KERNEL(kernels, sweep_column_part)(work, step, part);
}

void factor_rows(Kernels kernels, BidiagonalReduction& work, std::size_t step) {
  ATTNSCOPE_KERNEL(kernels, factor_row_panel)(work, step);
}

void sweep_rows(Kernels kernels, const BidiagonalReduction& work, std::size_t step,
                std::size_t part) {
  ATTNSCOPE_KERNEL(kernels, sweep_row_part)(work, step, part);
}

}  // namespace attnscope::kernels
#endif
