// Products with a few columns: the first look at a large map's leading singular values.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/kernels/subspace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/subspace.h"
#include "attnscope/numerics/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Rows of a map that are worked on together, and columns that are converted at once.
constexpr std::size_t kTogether = 4, kConverted = 256;
/// Registers that hold a row of kSketch columns.
constexpr std::size_t kParts = kSketch / kLanes;

/// Columns [first, last) of row `row` as float64, zero where there are none.
void convert(MatrixView<const float> map, bool lower, std::size_t row, std::size_t first,
             std::size_t last, double* out) {
  const auto rows = static_cast<std::size_t>(map.rows);
  const std::size_t end = row >= rows ? first : lower ? std::clamp(row + 1, first, last) : last;
  const float* line = map.data + static_cast<std::int64_t>(row) * map.row_stride;
  std::size_t col = first;
  for (; col + kLanes <= end; col += kLanes) {
    hn::StoreU(load_float64(line + col), Doubles(), out + (col - first));
  }
  for (; col < end; ++col) out[col - first] = static_cast<double>(line[col]);
  std::fill(out + (end - first), out + (last - first), 0.0);
}

/// Calls use(row, first, last, lines) for kTogether rows and up to kConverted columns at a time;
/// lines: (kTogether, kConverted).
template <class Use>
HWY_INLINE void for_blocks(MatrixView<const float> map, bool lower, const Use& use) {
  HWY_ALIGN double lines[kTogether * kConverted];
  const auto rows = static_cast<std::size_t>(map.rows), cols = static_cast<std::size_t>(map.cols);
  for (std::size_t row = 0; row < rows; row += kTogether) {
    const std::size_t width = lower ? std::min(row + kTogether, cols) : cols;
    for (std::size_t first = 0; first < width; first += kConverted) {
      const std::size_t last = std::min(first + kConverted, width);
      for (std::size_t at = 0; at < kTogether; ++at) {
        convert(map, lower, row + at, first, last, lines + at * kConverted);
      }
      use(row, first, last, lines);
    }
  }
}

void multiply_rows_of(MatrixView<const float> map, bool lower, const double* in, double* out) {
  const Doubles d;
  const auto rows = static_cast<std::size_t>(map.rows);
  std::fill(out, out + rows * kSketch, 0.0);
  for_blocks(map, lower,
             [&](std::size_t row, std::size_t first, std::size_t last, const double* lines)
                 HWY_ATTR {
                   Vector sums[kTogether][kParts];
                   for (auto& line : sums) {
                     for (Vector& sum : line) sum = hn::Zero(d);
                   }
                   for (std::size_t col = first; col < last; ++col) {
                     for (std::size_t part = 0; part < kParts; ++part) {
                       const Vector factor = hn::LoadU(d, in + col * kSketch + part * kLanes);
                       for (std::size_t at = 0; at < kTogether; ++at) {
                         const Vector element = hn::Set(d, lines[at * kConverted + col - first]);
                         sums[at][part] = hn::MulAdd(element, factor, sums[at][part]);
                       }
                     }
                   }
                   for (std::size_t at = 0; at < std::min(kTogether, rows - row); ++at) {
                     for (std::size_t part = 0; part < kParts; ++part) {
                       double* to = out + (row + at) * kSketch + part * kLanes;
                       hn::StoreU(hn::Add(hn::LoadU(d, to), sums[at][part]), d, to);
                     }
                   }
                 });
}

void multiply_columns_of(MatrixView<const float> map, bool lower, const double* in, double* out) {
  const Doubles d;
  const auto rows = static_cast<std::size_t>(map.rows);
  std::fill(out, out + static_cast<std::size_t>(map.cols) * kSketch, 0.0);
  for_blocks(
      map, lower,
      [&](std::size_t row, std::size_t first, std::size_t last, const double* lines) HWY_ATTR {
        Vector factors[kTogether][kParts];
        for (std::size_t at = 0; at < kTogether; ++at) {
          const std::size_t own = std::min(row + at, rows - 1);  // past the end a line is zero
          for (std::size_t part = 0; part < kParts; ++part) {
            factors[at][part] = hn::LoadU(d, in + own * kSketch + part * kLanes);
          }
        }
        for (std::size_t col = first; col < last; ++col) {
          for (std::size_t part = 0; part < kParts; ++part) {
            double* to = out + col * kSketch + part * kLanes;
            Vector sum = hn::LoadU(d, to);
            for (std::size_t at = 0; at < kTogether; ++at) {
              const Vector element = hn::Set(d, lines[at * kConverted + col - first]);
              sum = hn::MulAdd(element, factors[at][part], sum);
            }
            hn::StoreU(sum, d, to);
          }
        }
      });
}

double squares_of(MatrixView<const float> map) {
  const Doubles d;
  Vector sums[2] = {hn::Zero(d), hn::Zero(d)};
  double rest = 0;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const float* line = map.data + row * map.row_stride;
    const auto count = static_cast<std::size_t>(map.cols);
    std::size_t col = 0;
    for (; col + 2 * kLanes <= count; col += 2 * kLanes) {
      const Vector a = load_float64(line + col), b = load_float64(line + col + kLanes);
      sums[0] = hn::MulAdd(a, a, sums[0]);
      sums[1] = hn::MulAdd(b, b, sums[1]);
    }
    for (; col < count; ++col) rest += static_cast<double>(line[col]) * line[col];
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1]))) + rest;
}

void multiply_triangle(const double* triangle, std::size_t tiles, const double* in,
                       std::size_t width, double* out) {
  std::fill(out, out + tiles * kTile * width, 0.0);
  for (std::size_t panel = 0; panel < tiles; ++panel) {
    const double* tile_columns = triangle + panel_offset(panel);
    for (std::size_t at = 0; at < width; at += kTile) {
      // The panel's rows, from the diagonal to the left; sums of kTile columns at a time keep their
      // digits.
      for (std::size_t tile = 0; tile <= panel; ++tile) {
        multiply_tile</*kSubtract=*/false>({.left = in + tile * kTile * width + at,
                                            .left_step = width,
                                            .right = tile_columns + tile * kTileSize,
                                            .right_depth = kTile,
                                            .right_column = 1,
                                            .depth = kTile},
                                           out + panel * kTile * width + at, width);
      }
      // And as columns of the other triangle.
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
HWY_EXPORT(multiply_columns_of);
HWY_EXPORT(squares_of);
HWY_EXPORT(multiply_triangle);

void multiply_map(Kernels kernels, MatrixView<const float> map, bool lower, const double* in,
                  double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply_rows_of)(map, lower, in, out);
}

void multiply_map_transposed(Kernels kernels, MatrixView<const float> map, bool lower,
                             const double* in, double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply_columns_of)(map, lower, in, out);
}

double sum_of_squares(Kernels kernels, MatrixView<const float> map) {
  return ATTNSCOPE_KERNEL(kernels, squares_of)(map);
}

void multiply_symmetric(Kernels kernels, const double* triangle, std::size_t tiles,
                        const double* in, std::size_t width, double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply_triangle)(triangle, tiles, in, width, out);
}

}  // namespace attnscope::kernels
#endif
