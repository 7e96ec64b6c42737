// Interleaves many small matrices, one per lane, and computes their Gram matrices.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/batched_gram.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/vectors-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Number of columns (or rows) of a block that are multiplied together: as many as fit into
/// registers.
constexpr std::size_t kTogether = kLanes == 4 ? 2 : 4;

std::size_t lanes() { return kLanes; }

template <class T>
HWY_INLINE void interleave(std::span<const T* const> lines, const double* scales,
                           std::size_t columns, double* out) {
  // Missing lanes repeat the last line with scale zero, so that the loop has no special cases.
  const T* line[kLanes];
  double scale[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    line[lane] = lines[std::min(lane, lines.size() - 1)];
    scale[lane] = lane < lines.size() ? scales[lane] : 0;
  }
  std::size_t column = 0;
  for (; column + kLanes <= columns; column += kLanes) {
    Vector x[kLanes];
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      x[lane] = hn::Mul(load_float64(line[lane] + column), hn::Set(Doubles(), scale[lane]));
    }
    transpose(x);
#pragma GCC unroll 8
    for (std::size_t at = 0; at < kLanes; ++at) {
      store(x[at], out + (column + at) * kBlock * kLanes);
    }
  }
  for (; column < columns; ++column) {
    double* element = out + column * kBlock * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      element[lane] = scale[lane] * static_cast<double>(line[lane][column]);
    }
  }
}

void interleave_float32(std::span<const float* const> lines, const double* scales,
                        std::size_t columns, double* out) {
  interleave(lines, scales, columns, out);
}

void interleave_float64(std::span<const double* const> lines, const double* scales,
                        std::size_t columns, double* out) {
  interleave(lines, scales, columns, out);
}

// ------------------------------------------------------------------ Gram matrix

/// Number of columns multiplied together: those of two blocks of rows stay in the L1 cache.
constexpr std::size_t kGramColumns = 32;

/// Multiplies rows [part, part + kTogether) of one block with those of another, and adds to the
/// existing sums unless kFirst.
template <bool kFirst>
HWY_INLINE void gram_block(const double* left, const double* right, std::size_t depth,
                           std::size_t part, double* out) {
  Vector sums[kTogether][kBlock];
#pragma GCC unroll 4
  for (std::size_t row = 0; row < kTogether; ++row) {
#pragma GCC unroll 4
    for (std::size_t column = 0; column < kBlock; ++column) {
      sums[row][column] = hn::Zero(Doubles());
    }
  }
  for (std::size_t k = 0; k < depth; ++k) {
    Vector a[kTogether];
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kTogether; ++row) {
      a[row] = load(left + (k * kBlock + part + row) * kLanes);
    }
#pragma GCC unroll 4
    for (std::size_t column = 0; column < kBlock; ++column) {
      const Vector b = load(right + (k * kBlock + column) * kLanes);
#pragma GCC unroll 4
      for (std::size_t row = 0; row < kTogether; ++row) {
        sums[row][column] = hn::MulAdd(a[row], b, sums[row][column]);
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t row = 0; row < kTogether; ++row) {
#pragma GCC unroll 4
    for (std::size_t column = 0; column < kBlock; ++column) {
      double* at = out + ((part + row) * kBlock + column) * kLanes;
      store(kFirst ? sums[row][column] : hn::Add(load(at), sums[row][column]), at);
    }
  }
}

void batched_gram(const double* rows, std::size_t order, bool lower, double* triangle) {
  const std::size_t blocks = order / kBlock;
  for (std::size_t column = 0; column < blocks; ++column) {
    const double* right = rows + row_block_offset(column, order, lower) * kLanes;
    const std::size_t depth = lower ? (column + 1) * kBlock : order;
    for (std::size_t first = 0; first < depth; first += kGramColumns) {
      const std::size_t count = std::min(kGramColumns, depth - first);
      const std::size_t start = first * kBlock * kLanes;
      double* out = triangle + column_block_offset(column, order) * kLanes;
      for (std::size_t row = column; row < blocks; ++row, out += kBlock * kBlock * kLanes) {
        const double* left = rows + row_block_offset(row, order, lower) * kLanes;
        for (std::size_t part = 0; part < kBlock; part += kTogether) {
          if (first == 0) {
            gram_block<true>(left, right, count, part, out);
          } else {
            gram_block<false>(left + start, right + start, count, part, out);
          }
        }
      }
    }
  }
}

// ------------------------------------------------------------------ extent

/// Returns the largest magnitudes at or below the diagonal of a matrix, and above it.
template <class T>
HWY_INLINE Extents extents_of(MatrixView<const T> matrix) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kWidth = hn::MaxLanes(d);
  const auto rows = static_cast<std::size_t>(matrix.rows);
  const auto columns = static_cast<std::size_t>(matrix.cols);
  const auto lane = hn::Iota(d, T{0});
  auto below = hn::Zero(d), above = hn::Zero(d);
  T rest_below = 0, rest_above = 0;
  const bool together = matrix.col_stride == 1 && columns >= kWidth;
  for (std::size_t row = 0; row < rows; ++row) {
    const T* line = matrix.data + static_cast<std::int64_t>(row) * matrix.row_stride;
    if (!together) {
      for (std::size_t col = 0; col < columns; ++col) {
        const T magnitude = std::abs(line[static_cast<std::int64_t>(col) * matrix.col_stride]);
        T& largest = col <= row ? rest_below : rest_above;
        largest = std::max(largest, magnitude);
      }
      continue;
    }
    for (std::size_t at = 0; at < columns; at += kWidth) {
      const std::size_t first = std::min(at, columns - kWidth);  // the last ones overlap
      const auto x = hn::Abs(hn::LoadU(d, line + first));
      if (first + kWidth <= row + 1) {
        below = hn::Max(below, x);
      } else if (first > row) {
        above = hn::Max(above, x);
      } else {
        const auto is_below = hn::Le(lane, hn::Set(d, static_cast<T>(row - first)));
        below = hn::Max(below, hn::IfThenElseZero(is_below, x));
        above = hn::Max(above, hn::IfThenZeroElse(is_below, x));
      }
    }
  }
  const T whole_below = hn::GetLane(hn::MaxOfLanes(d, below));
  const T whole_above = hn::GetLane(hn::MaxOfLanes(d, above));
  return {static_cast<double>(std::max(whole_below, rest_below)),
          static_cast<double>(std::max(whole_above, rest_above))};
}

Extents extents_float32(MatrixView<const float> matrix) { return extents_of(matrix); }
Extents extents_float64(MatrixView<const double> matrix) { return extents_of(matrix); }

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(lanes);
HWY_EXPORT(interleave_float32);
HWY_EXPORT(interleave_float64);
HWY_EXPORT(batched_gram);
HWY_EXPORT(extents_float32);
HWY_EXPORT(extents_float64);

std::size_t lanes(Kernels kernels) { return ATTNSCOPE_KERNEL(kernels, lanes)(); }

void interleave_row(Kernels kernels, std::span<const float* const> lines, const double* scales,
                    std::size_t columns, double* out) {
  ATTNSCOPE_KERNEL(kernels, interleave_float32)(lines, scales, columns, out);
}

void interleave_row(Kernels kernels, std::span<const double* const> lines, const double* scales,
                    std::size_t columns, double* out) {
  ATTNSCOPE_KERNEL(kernels, interleave_float64)(lines, scales, columns, out);
}

void batched_gram(Kernels kernels, const double* rows, std::size_t order, bool lower,
                  double* triangle) {
  ATTNSCOPE_KERNEL(kernels, batched_gram)(rows, order, lower, triangle);
}

Extents extents(Kernels kernels, MatrixView<const float> matrix) {
  return ATTNSCOPE_KERNEL(kernels, extents_float32)(matrix);
}

Extents extents(Kernels kernels, MatrixView<const double> matrix) {
  return ATTNSCOPE_KERNEL(kernels, extents_float64)(matrix);
}

}  // namespace attnscope::kernels
#endif
