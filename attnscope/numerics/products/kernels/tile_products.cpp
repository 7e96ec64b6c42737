// A Aᵀ in float64, into tiles.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/products/kernels/tile_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"
#include "attnscope/numerics/products/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Number of panels whose packed rows stay in the L2 cache while all columns of tiles are
/// processed.
constexpr std::size_t kPanelsInCache = 8;
/// Number of columns per partial sum: their part of a tile stays in the L1 cache, and long sums
/// stay accurate. The tiles of a group of panels are still in the L3 cache for the next columns.
constexpr std::size_t kSumColumns = 256;

/// Returns the largest magnitude of `count` contiguous elements.
template <class T>
HWY_INLINE T largest_in_line(const T* line, std::size_t count) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kWidth = hn::MaxLanes(d), kChains = 4;
  hn::Vec<decltype(d)> largest[kChains];
  for (auto& chain : largest) chain = hn::Zero(d);
  std::size_t at = 0;
  for (; at + kChains * kWidth <= count; at += kChains * kWidth) {
#pragma GCC unroll 4
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const auto values = hn::Abs(hn::LoadU(d, line + at + chain * kWidth));
      largest[chain] = hn::Max(largest[chain], values);
    }
  }
  const auto both = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
  T out = hn::GetLane(hn::MaxOfLanes(d, both));
  for (; at < count; ++at) out = std::max(out, std::abs(line[at]));
  return out;
}

template <class T>
HWY_INLINE T largest_in(MatrixView<const T> matrix) {
  if (matrix.row_stride == 1) matrix = matrix.transposed();
  if (matrix.col_stride == 1 && matrix.row_stride == matrix.cols) {
    return largest_in_line(matrix.data, static_cast<std::size_t>(matrix.rows * matrix.cols));
  }
  T out = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const T* line = matrix.data + row * matrix.row_stride;
    if (matrix.col_stride == 1) {
      out = std::max(out, largest_in_line(line, static_cast<std::size_t>(matrix.cols)));
      continue;
    }
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out = std::max(out, std::abs(line[col * matrix.col_stride]));
    }
  }
  return out;
}

float largest_float32(MatrixView<const float> matrix) { return largest_in(matrix); }
double largest_float64(MatrixView<const double> matrix) { return largest_in(matrix); }

template <class T>
void pack(MatrixView<const T> a, double scale, std::size_t first, std::size_t last,
          double* HWY_RESTRICT packed) {
  // Processes strips of columns, because a row-major matrix is read along its rows and written
  // across them.
  constexpr std::size_t kStrip = 32;
  const auto rows = static_cast<std::size_t>(a.rows), depth = static_cast<std::size_t>(a.cols);
  for (std::size_t panel = first; panel < last; ++panel) {
    double* out = packed + panel * depth * kTile;
    const std::size_t filled = std::min(kTile, rows - std::min(rows, panel * kTile));
    if (filled < kTile) std::fill(out, out + depth * kTile, 0.0);
    const T* from = a.data + static_cast<std::int64_t>(panel * kTile) * a.row_stride;
    for (std::size_t start = 0; start < depth; start += kStrip) {
      const std::size_t end = std::min(start + kStrip, depth);
      if (a.row_stride == 1) {
        for (std::size_t column = start; column < end; ++column) {
          const T* source = from + static_cast<std::int64_t>(column) * a.col_stride;
          for (std::size_t row = 0; row < filled; ++row) {
            out[column * kTile + row] = scale * static_cast<double>(source[row]);
          }
        }
        continue;
      }
      // Whole registers of contiguous rows are transposed; the rest is copied element by element.
      const std::size_t whole_rows = a.col_stride == 1 ? filled / kLanes * kLanes : 0;
      const std::size_t whole_end = start + (end - start) / kLanes * kLanes;
      for (std::size_t row = 0; row < whole_rows; row += kLanes) {
        for (std::size_t column = start; column < whole_end; column += kLanes) {
          const T* source = from + static_cast<std::int64_t>(row) * a.row_stride + column;
          Vector x[kLanes];
#pragma GCC unroll 8
          for (std::size_t at = 0; at < kLanes; ++at) {
            x[at] = hn::Mul(load_float64(source + static_cast<std::int64_t>(at) * a.row_stride),
                            hn::Set(Doubles(), scale));
          }
          transpose(x);
#pragma GCC unroll 8
          for (std::size_t at = 0; at < kLanes; ++at) {
            hn::StoreU(x[at], Doubles(), out + (column + at) * kTile + row);
          }
        }
      }
      for (std::size_t row = 0; row < filled; ++row) {
        const T* source = from + static_cast<std::int64_t>(row) * a.row_stride;
        for (std::size_t column = row < whole_rows ? whole_end : start; column < end; ++column) {
          out[column * kTile + row] =
              scale * static_cast<double>(source[static_cast<std::int64_t>(column) * a.col_stride]);
        }
      }
    }
  }
}

void pack_float32(MatrixView<const float> a, double scale, std::size_t first, std::size_t last,
                  double* packed) {
  pack(a, scale, first, last, packed);
}

void pack_float64(MatrixView<const double> a, double scale, std::size_t first, std::size_t last,
                  double* packed) {
  pack(a, scale, first, last, packed);
}

void add_products(const double* packed, std::size_t depth, std::size_t first, std::size_t last,
                  double* triangle, std::ptrdiff_t filled) {
  for (std::size_t start = first; start < last; start += kPanelsInCache) {
    const std::size_t end = std::min(start + kPanelsInCache, last);
    for (std::size_t at = 0; at < depth; at += kSumColumns) {
      for (std::size_t tile = 0; tile < end; ++tile) {
        // Elements that are zero in the rows of the tile's columns add nothing.
        const auto zero_from = static_cast<std::ptrdiff_t>((tile + 1) * kTile - 1) + filled;
        const auto left = zero_from - static_cast<std::ptrdiff_t>(at);
        if (left <= 0) continue;
        const std::size_t count =
            std::min({kSumColumns, depth - at, static_cast<std::size_t>(left)});
        for (std::size_t column = 0; column < kTile; column += kColumns) {
          for (std::size_t panel = std::max(start, tile); panel < end; ++panel) {
            multiply_rows</*kSubtract=*/false>(
                {.left = packed + (panel * depth + at) * kTile,
                 .left_step = kTile,
                 .right = packed + (tile * depth + at) * kTile + column,
                 .right_depth = kTile,
                 .right_column = 1,
                 .depth = count},
                triangle + panel_offset(panel) + tile * kTileSize + column * kTile, kTile);
          }
        }
      }
    }
  }
}

// ------------------------------------------------------------------ few rows

constexpr std::size_t kRowsTogether = 4, kOthersTogether = kLanes == 4 ? 2 : 4;

/// Computes inner products of kRowsTogether rows with kOthersTogether others: out[other *
/// kRowsTogether + row].
HWY_INLINE void inner_products(const double* rows, const double* others, std::size_t depth,
                               double* out) {
  const Doubles d;
  constexpr std::size_t kCount = kRowsTogether * kOthersTogether;
  Vector sums[kCount];
#pragma GCC unroll 16
  for (Vector& sum : sums) sum = hn::Zero(d);
  for (std::size_t k = 0; k < depth; k += kLanes) {
    Vector row[kRowsTogether];
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kRowsTogether; ++at) {
      row[at] = hn::Load(d, rows + at * kFewRowsStep + k);
    }
#pragma GCC unroll 4
    for (std::size_t other = 0; other < kOthersTogether; ++other) {
      const Vector factor = hn::Load(d, others + other * kFewRowsStep + k);
#pragma GCC unroll 4
      for (std::size_t at = 0; at < kRowsTogether; ++at) {
        Vector& sum = sums[other * kRowsTogether + at];
        sum = hn::MulAdd(row[at], factor, sum);
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t first = 0; first < kCount; first += kLanes) {
    hn::Store(sums_of<kLanes>(sums + first), d, out + first);
  }
}

template <class T>
void gram_of_rows(MatrixView<const T> a, double scale, double* scratch, double* lower) {
  const auto n = static_cast<std::size_t>(a.rows), columns = static_cast<std::size_t>(a.cols);
  const std::size_t padded = (n + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
  std::fill(lower, lower + n * n, 0.0);
  std::fill(scratch + n * kFewRowsStep, scratch + padded * kFewRowsStep, 0.0);
  constexpr std::size_t kDepth = kFewRowsStep - 8;
  for (std::size_t first = 0; first < columns; first += kDepth) {
    const std::size_t count = std::min(kDepth, columns - first);
    const std::size_t depth = (count + kLanes - 1) / kLanes * kLanes;
    for (std::size_t row = 0; row < n; ++row) {
      const T* from = a.data + static_cast<std::int64_t>(row) * a.row_stride + first;
      double* to = scratch + row * kFewRowsStep;
      std::size_t at = 0;
      for (; at + kLanes <= count; at += kLanes) {
        hn::Store(hn::Mul(load_float64(from + at), hn::Set(Doubles(), scale)), Doubles(), to + at);
      }
      for (; at < count; ++at) to[at] = scale * static_cast<double>(from[at]);
      std::fill(to + count, to + depth, 0.0);
    }
    for (std::size_t row = 0; row < padded; row += kRowsTogether) {
      for (std::size_t other = 0; other < row + kRowsTogether; other += kOthersTogether) {
        HWY_ALIGN double products[kRowsTogether * kOthersTogether];
        inner_products(scratch + row * kFewRowsStep, scratch + other * kFewRowsStep, depth,
                       products);
        for (std::size_t col = other; col < std::min(other + kOthersTogether, n); ++col) {
          for (std::size_t line = std::max(row, col); line < std::min(row + kRowsTogether, n);
               ++line) {
            lower[col * n + line] += products[(col - other) * kRowsTogether + line - row];
          }
        }
      }
    }
  }
}

void few_rows_float32(MatrixView<const float> a, double scale, double* scratch, double* lower) {
  gram_of_rows(a, scale, scratch, lower);
}

void few_rows_float64(MatrixView<const double> a, double scale, double* scratch, double* lower) {
  gram_of_rows(a, scale, scratch, lower);
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(largest_float32);
HWY_EXPORT(largest_float64);
HWY_EXPORT(pack_float32);
HWY_EXPORT(pack_float64);
HWY_EXPORT(add_products);
HWY_EXPORT(few_rows_float32);
HWY_EXPORT(few_rows_float64);

float largest_magnitude(Kernels kernels, MatrixView<const float> matrix) {
  return ATTNSCOPE_KERNEL(kernels, largest_float32)(matrix);
}

double largest_magnitude(Kernels kernels, MatrixView<const double> matrix) {
  return ATTNSCOPE_KERNEL(kernels, largest_float64)(matrix);
}

void pack_panels(Kernels kernels, MatrixView<const float> a, double scale, std::size_t first,
                 std::size_t last, double* packed) {
  ATTNSCOPE_KERNEL(kernels, pack_float32)(a, scale, first, last, packed);
}

void pack_panels(Kernels kernels, MatrixView<const double> a, double scale, std::size_t first,
                 std::size_t last, double* packed) {
  ATTNSCOPE_KERNEL(kernels, pack_float64)(a, scale, first, last, packed);
}

void add_tile_products(Kernels kernels, const double* packed, std::size_t depth, std::size_t first,
                       std::size_t last, double* triangle, std::ptrdiff_t filled) {
  ATTNSCOPE_KERNEL(kernels, add_products)(packed, depth, first, last, triangle, filled);
}

void gram_of_few_rows(Kernels kernels, MatrixView<const float> a, double scale, double* scratch,
                      double* lower) {
  ATTNSCOPE_KERNEL(kernels, few_rows_float32)(a, scale, scratch, lower);
}

void gram_of_few_rows(Kernels kernels, MatrixView<const double> a, double scale, double* scratch,
                      double* lower) {
  ATTNSCOPE_KERNEL(kernels, few_rows_float64)(a, scale, scratch, lower);
}

}  // namespace attnscope::kernels
#endif
