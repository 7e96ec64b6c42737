// Products with a few columns, for a first estimate of a large map's leading singular values.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/attention_maps/kernels/subspace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/attention_maps/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Columns of a map that are converted together.
constexpr std::size_t kConverted = 256;
/// Registers that hold a row of kSketch columns.
constexpr std::size_t kParts = kSketch / kLanes;

/// Converts columns [first, last) of kTogether rows from `row` on to float64, `step` apart, with
/// zeros for missing rows. Returns the sums of their squares, one per lane.
Vector convert(MatrixView<const float> map, bool lower, std::size_t row, std::size_t first,
               std::size_t last, std::size_t step, double* out) {
  const Doubles d;
  Vector squares = hn::Zero(d);
  for (std::size_t own = row; own < row + kTogether; ++own, out += step) {
    const bool is_row = own < static_cast<std::size_t>(map.rows);
    const std::size_t end = !is_row ? first : lower ? std::clamp(own + 1, first, last) : last;
    const float* line = map.data + static_cast<std::int64_t>(own) * map.row_stride;
    std::size_t col = first;
    for (; col + kLanes <= end; col += kLanes) {
      const Vector elements = load_float64(line + col);
      squares = hn::MulAdd(elements, elements, squares);
      hn::StoreU(elements, d, out + (col - first));
    }
    if (col < end) {
      float rest[kLanes] = {};
      std::copy(line + col, line + end, rest);
      const Vector elements = load_float64(rest);
      squares = hn::MulAdd(elements, elements, squares);
      for (; col < end; ++col) out[col - first] = static_cast<double>(line[col]);
    }
    std::fill(out + (end - first), out + (last - first), 0.0);
  }
  return squares;
}

/// kTogether rows of a product.
struct RowSums {
  Vector at[kTogether][kParts];
};

/// Adds lines · in to `sums`, over `count` columns.
HWY_INLINE void add_rows(const double* lines, std::size_t step, std::size_t count, const double* in,
                         RowSums& sums) {
  const Doubles d;
  for (std::size_t col = 0; col < count; ++col) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kParts; ++part) {
      const Vector factor = hn::LoadU(d, in + col * kSketch + part * kLanes);
#pragma GCC unroll 4
      for (std::size_t row = 0; row < kTogether; ++row) {
        sums.at[row][part] =
            hn::MulAdd(hn::Set(d, lines[row * step + col]), factor, sums.at[row][part]);
      }
    }
  }
}

RowSums no_sums() {
  RowSums sums;
  for (auto& row : sums.at) {
    for (Vector& sum : row) sum = hn::Zero(Doubles());
  }
  return sums;
}

void multiply_rows_of(MatrixView<const float> map, bool lower, const double* in, double* out) {
  HWY_ALIGN double lines[kTogether * kConverted];
  const auto rows = static_cast<std::size_t>(map.rows), cols = static_cast<std::size_t>(map.cols);
  for (std::size_t row = 0; row < rows; row += kTogether) {
    const std::size_t width = lower ? std::min(row + kTogether, cols) : cols;
    RowSums sums = no_sums();
    for (std::size_t first = 0; first < width; first += kConverted) {
      const std::size_t last = std::min(first + kConverted, width);
      convert(map, lower, row, first, last, kConverted, lines);
      RowSums own = no_sums();
      add_rows(lines, kConverted, last - first, in + first * kSketch, own);
      for (std::size_t at = 0; at < kTogether * kParts; ++at) {
        Vector& sum = sums.at[at / kParts][at % kParts];
        sum = hn::Add(sum, own.at[at / kParts][at % kParts]);
      }
    }
    for (std::size_t at = 0; at < std::min(kTogether, rows - row); ++at) {
      for (std::size_t part = 0; part < kParts; ++part) {
        hn::StoreU(sums.at[at][part], Doubles(), out + (row + at) * kSketch + part * kLanes);
      }
    }
  }
}

double multiply_gram(MatrixView<const float> map, bool lower, const double* in, double* scratch,
                     double* out) {
  const Doubles d;
  const auto rows = static_cast<std::size_t>(map.rows), cols = static_cast<std::size_t>(map.cols);
  const std::size_t step = gram_scratch(cols);
  std::fill(out, out + cols * kSketch, 0.0);
  Vector squares = hn::Zero(d);
  for (std::size_t row = 0; row < rows; row += kTogether) {
    const std::size_t width = lower ? std::min(row + kTogether, cols) : cols;
    squares = hn::Add(squares, convert(map, lower, row, 0, width, step, scratch));
    RowSums sums = no_sums();
    add_rows(scratch, step, width, in, sums);
    for (std::size_t col = 0; col < width; ++col) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        double* to = out + col * kSketch + part * kLanes;
        Vector sum = hn::LoadU(d, to);
#pragma GCC unroll 4
        for (std::size_t at = 0; at < kTogether; ++at) {
          sum = hn::MulAdd(hn::Set(d, scratch[at * step + col]), sums.at[at][part], sum);
        }
        hn::StoreU(sum, d, to);
      }
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, squares));
}

void multiply_triangle(const double* triangle, std::size_t tiles, const double* in,
                       std::size_t width, double* out) {
  std::fill(out, out + tiles * kTile * width, 0.0);
  for (std::size_t panel = 0; panel < tiles; ++panel) {
    const double* tile_columns = triangle + panel_offset(panel);
    for (std::size_t at = 0; at < width; at += kTile) {
      // Rows of the panel, up to the diagonal. Summing kTile columns at a time keeps the sums
      // accurate.
      for (std::size_t tile = 0; tile <= panel; ++tile) {
        multiply_tile</*kSubtract=*/false>({.left = in + tile * kTile * width + at,
                                            .left_step = width,
                                            .right = tile_columns + tile * kTileSize,
                                            .right_depth = kTile,
                                            .right_column = 1,
                                            .depth = kTile},
                                           out + panel * kTile * width + at, width);
      }
      // The same elements as columns of the upper triangle.
      for (std::size_t tile = 0; tile < panel; ++tile) {
        multiply_tile</*kSubtract=*/false>({.left = in + panel * kTile * width + at,
                                            .left_step = width,
                                            .right = tile_columns + tile * kTileSize,
                                            .right_depth = 1,
                                            .right_column = kTile,
                                            .depth = kTile},
                                           out + tile * kTile * width + at, width);
      }
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(multiply_rows_of);
HWY_EXPORT(multiply_gram);
HWY_EXPORT(multiply_triangle);

void multiply_map(Kernels kernels, MatrixView<const float> map, bool lower, const double* in,
                  double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply_rows_of)(map, lower, in, out);
}

double multiply_map_gram(Kernels kernels, MatrixView<const float> map, bool lower, const double* in,
                         double* scratch, double* out) {
  return ATTNSCOPE_KERNEL(kernels, multiply_gram)(map, lower, in, scratch, out);
}

void multiply_symmetric(Kernels kernels, const double* triangle, std::size_t tiles,
                        const double* in, std::size_t width, double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply_triangle)(triangle, tiles, in, width, out);
}

}  // namespace attnscope::kernels
#endif
