// Many small matrices at once, one in each lane.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/kernels/interleaved.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <span>
#include <utility>

#include "attnscope/numerics/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Vector = hn::Vec<Doubles>;

constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
/// Columns (or rows) of a block that are worked on together: what the registers hold.
constexpr std::size_t kTogether = kLanes == 4 ? 2 : 4;
/// Squared norms below this count as zero: 1e-20 beside elements of order 1.
constexpr double kLeastSquare = 1e-40;

std::size_t lanes() { return kLanes; }

HWY_INLINE Vector load(const double* at) { return hn::Load(Doubles(), at); }
HWY_INLINE void store(Vector value, double* at) { hn::Store(value, Doubles(), at); }

template <class T>
HWY_INLINE void interleave(std::span<const T* const> lines, const double* scales,
                           std::size_t columns, double* out) {
  // Missing lanes repeat the last line with scale zero, so that the loop has no cases.
  const T* line[kLanes];
  double scale[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    line[lane] = lines[std::min(lane, lines.size() - 1)];
    scale[lane] = lane < lines.size() ? scales[lane] : 0;
  }
  // All lanes of an element before the next one: they share a line of the cache.
  for (std::size_t column = 0; column < columns; ++column, out += kBlock * kLanes) {
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      out[lane] = scale[lane] * static_cast<double>(line[lane][column]);
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

/// Rows [4 row_block + part, + kTogether) against the rows of `column_block`.
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
      store(sums[row][column], out + ((part + row) * kBlock + column) * kLanes);
    }
  }
}

void interleaved_gram(const double* rows, std::size_t order, bool lower, double* triangle) {
  const std::size_t blocks = order / kBlock;
  for (std::size_t column = 0; column < blocks; ++column) {
    const double* right = rows + row_block_offset(column, order, lower) * kLanes;
    const std::size_t depth = lower ? (column + 1) * kBlock : order;
    double* out = triangle + column_block_offset(column, order) * kLanes;
    for (std::size_t row = column; row < blocks; ++row) {
      const double* left = rows + row_block_offset(row, order, lower) * kLanes;
      for (std::size_t part = 0; part < kBlock; part += kTogether) {
        gram_block(left, right, depth, part, out);
      }
      out += kBlock * kBlock * kLanes;
    }
  }
}

// ------------------------------------------------------------------ tridiagonal form

/// What one step needs of every row: the update v wᵀ + w vᵀ that is pending, the new reflector,
/// and the product of the matrix with it.
struct Rows {
  double *v, *w, *next, *y;
};

/// Columns [part, part + kTogether) of the column block at `block` (its first row is `first`):
/// the pending update, and at once the product with the new reflector.
template <bool kPending>
HWY_INLINE void update_and_multiply(double* block, std::size_t first, std::size_t order,
                                    std::size_t part, const Rows& rows) {
  Vector v[kTogether], w[kTogether], next[kTogether], y[kTogether];
#pragma GCC unroll 4
  for (std::size_t column = 0; column < kTogether; ++column) {
    const std::size_t at = (first + part + column) * kLanes;
    v[column] = load(rows.v + at);
    w[column] = load(rows.w + at);
    next[column] = load(rows.next + at);
    y[column] = hn::Zero(Doubles());
  }
  const auto row_step = [&](std::size_t row, auto on_diagonal) HWY_ATTR {
    double* line = block + ((row - first) * kBlock + part) * kLanes;
    const Vector v_row = load(rows.v + row * kLanes), w_row = load(rows.w + row * kLanes);
    const Vector next_row = load(rows.next + row * kLanes);
    Vector y_row = load(rows.y + row * kLanes);
#pragma GCC unroll 4
    for (std::size_t column = 0; column < kTogether; ++column) {
      Vector x = load(line + column * kLanes);
      if constexpr (kPending) {
        x = hn::NegMulAdd(v_row, w[column], x);
        x = hn::NegMulAdd(w_row, v[column], x);
        store(x, line + column * kLanes);
      }
      y_row = hn::MulAdd(x, next[column], y_row);
      if constexpr (!on_diagonal.value) y[column] = hn::MulAdd(x, next_row, y[column]);
    }
    store(y_row, rows.y + row * kLanes);
  };
  for (std::size_t row = first; row < first + kBlock; ++row) row_step(row, std::true_type());
  for (std::size_t row = first + kBlock; row < order; ++row) row_step(row, std::false_type());
#pragma GCC unroll 4
  for (std::size_t column = 0; column < kTogether; ++column) {
    double* at = rows.y + (first + part + column) * kLanes;
    store(hn::Add(load(at), y[column]), at);
  }
}

/// The reflector I − tau next nextᵀ that clears column `column` below its second element, from the
/// column as the pending update leaves it. Gives the diagonal and the coupling.
HWY_INLINE Vector make_reflector(const double* triangle, std::size_t order, std::size_t column,
                                 const Rows& rows, double* diagonal, double* off_diagonal) {
  const Doubles d;
  const std::size_t block = column / kBlock, first = block * kBlock;
  const double* lines = triangle + column_block_offset(block, order) * kLanes;
  const Vector v = load(rows.v + column * kLanes), w = load(rows.w + column * kLanes);
  const auto element = [&](std::size_t row) HWY_ATTR {
    Vector x = load(lines + ((row - first) * kBlock + column % kBlock) * kLanes);
    x = hn::NegMulAdd(load(rows.v + row * kLanes), w, x);
    return hn::NegMulAdd(load(rows.w + row * kLanes), v, x);
  };
  store(element(column), diagonal + column * kLanes);
  for (std::size_t row = first; row <= column; ++row) store(hn::Zero(d), rows.next + row * kLanes);
  Vector square = hn::Zero(d);
  for (std::size_t row = column + 1; row < order; ++row) {
    const Vector x = element(row);
    store(x, rows.next + row * kLanes);
    square = hn::MulAdd(x, x, square);
  }
  if (column + 1 >= order) {
    store(hn::Zero(d), off_diagonal + column * kLanes);
    return hn::Zero(d);
  }
  double* head = rows.next + (column + 1) * kLanes;
  const Vector alpha = load(head);
  const auto some = hn::Gt(square, hn::Set(d, kLeastSquare));
  const Vector norm = hn::Sqrt(square);
  const Vector beta = hn::IfThenElse(some, hn::Neg(hn::CopySign(norm, alpha)), alpha);
  const Vector first_v = hn::Sub(alpha, beta);
  store(beta, off_diagonal + column * kLanes);
  store(first_v, head);
  // Where there is no reflector tau is 0, and so are the products with it.
  const Vector divisor = hn::IfThenElse(some, hn::Mul(beta, first_v), hn::Set(d, 1.0));
  return hn::IfThenElseZero(some, hn::Neg(hn::Div(hn::Set(d, 1.0), divisor)));
}

void interleaved_tridiagonal(double* triangle, std::size_t order, double* work, double* diagonal,
                             double* off_diagonal) {
  const Doubles d;
  const std::size_t blocks = order / kBlock;
  std::fill(work, work + 4 * order * kLanes, 0.0);
  Rows rows{work, work + order * kLanes, work + 2 * order * kLanes, work + 3 * order * kLanes};
  for (std::size_t column = 0; column < order; ++column) {
    const Vector tau = make_reflector(triangle, order, column, rows, diagonal, off_diagonal);
    if (column + 1 >= order) break;
    const std::size_t start = (column + 1) / kBlock;
    std::fill(rows.y + start * kBlock * kLanes, rows.y + order * kLanes, 0.0);
    for (std::size_t block = start; block < blocks; ++block) {
      double* lines = triangle + column_block_offset(block, order) * kLanes;
      for (std::size_t part = 0; part < kBlock; part += kTogether) {
        if (column == 0) {
          update_and_multiply<false>(lines, block * kBlock, order, part, rows);
        } else {
          update_and_multiply<true>(lines, block * kBlock, order, part, rows);
        }
      }
    }
    // w = tau y − ½ tau (tau yᵀ next) next.
    Vector inner = hn::Zero(d);
    for (std::size_t row = column + 1; row < order; ++row) {
      inner = hn::MulAdd(load(rows.y + row * kLanes), load(rows.next + row * kLanes), inner);
    }
    const Vector share = hn::Mul(hn::Mul(hn::Set(d, -0.5), tau), hn::Mul(tau, inner));
    for (std::size_t row = start * kBlock; row < order; ++row) {
      const Vector next = load(rows.next + row * kLanes);
      const Vector w = hn::MulAdd(share, next, hn::Mul(tau, load(rows.y + row * kLanes)));
      store(row > column ? w : hn::Zero(d), rows.w + row * kLanes);
    }
    std::swap(rows.v, rows.next);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(lanes);
HWY_EXPORT(interleave_float32);
HWY_EXPORT(interleave_float64);
HWY_EXPORT(interleaved_gram);
HWY_EXPORT(interleaved_tridiagonal);

std::size_t lanes() { return HWY_DYNAMIC_DISPATCH(lanes)(); }

void interleave_row(std::span<const float* const> lines, const double* scales, std::size_t columns,
                    double* out) {
  HWY_DYNAMIC_DISPATCH(interleave_float32)(lines, scales, columns, out);
}

void interleave_row(std::span<const double* const> lines, const double* scales, std::size_t columns,
                    double* out) {
  HWY_DYNAMIC_DISPATCH(interleave_float64)(lines, scales, columns, out);
}

void interleaved_gram(const double* rows, std::size_t order, bool lower, double* triangle) {
  HWY_DYNAMIC_DISPATCH(interleaved_gram)(rows, order, lower, triangle);
}

void interleaved_tridiagonal(double* triangle, std::size_t order, double* work, double* diagonal,
                             double* off_diagonal) {
  HWY_DYNAMIC_DISPATCH(interleaved_tridiagonal)
  (triangle, order, work, diagonal, off_diagonal);
}

}  // namespace attnscope::kernels
#endif
