// Reduction of many small symmetric matrices, one per lane, to tridiagonal form.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/batched_tridiagonal.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/vectors-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Number of columns (or rows) of a block that are processed together: as many as fit into
/// registers.
constexpr std::size_t kTogether = kLanes == 4 ? 2 : 4;
/// Squared norms below this count as zero: 1e-20 relative to elements of order 1.
constexpr double kLeastSquare = 1e-40;

/// Reflectors V of one block of columns, with the W of their update: V Wᵀ + W Vᵀ is subtracted from
/// the matrix. (order, kBlock) each, rows of kBlock together.
struct Pairs {
  double *v, *w;
};

/// A reflector and its product with the matrix, (order,) each.
struct Product {
  double *reflector, *y;
};

/// Columns [part, part + kTogether) of a tile.
using TilePart = Vector[kBlock][kTogether];

HWY_INLINE void load_part(const double* tile, std::size_t part, TilePart& x) {
#pragma GCC unroll 4
  for (std::size_t line = 0; line < kBlock; ++line) {
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTogether; ++at) {
      x[line][at] = in_register(load(tile + (line * kBlock + part + at) * kLanes));
    }
  }
}

HWY_INLINE void store_part(const TilePart& x, double* tile, std::size_t part) {
#pragma GCC unroll 4
  for (std::size_t line = 0; line < kBlock; ++line) {
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTogether; ++at) {
      store(x[line][at], tile + (line * kBlock + part + at) * kLanes);
    }
  }
}

/// Applies the update to x: rows from `row` and columns from `column` of the matrix.
HWY_INLINE void update_part(TilePart& x, std::size_t row, std::size_t column, const Pairs& pairs) {
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kBlock; ++k) {
    Vector v[kTogether], w[kTogether];
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTogether; ++at) {
      const std::size_t place = ((column + at) * kBlock + k) * kLanes;
      v[at] = load(pairs.v + place);
      w[at] = load(pairs.w + place);
    }
#pragma GCC unroll 4
    for (std::size_t line = 0; line < kBlock; ++line) {
      const std::size_t place = ((row + line) * kBlock + k) * kLanes;
      const Vector v_row = load(pairs.v + place), w_row = load(pairs.w + place);
#pragma GCC unroll 4
      for (std::size_t at = 0; at < kTogether; ++at) {
        x[line][at] = hn::NegMulAdd(v_row, w[at], x[line][at]);
        x[line][at] = hn::NegMulAdd(w_row, v[at], x[line][at]);
      }
    }
  }
}

/// Multiplies x, rows from `row` of the matrix, with the reflector, whose elements at x's columns
/// are `factor` (kTogether,). Adds the columns' sums to `y` (kTogether,) and the rows' sums to
/// product.y.
template <bool kOnDiagonal>
HWY_INLINE void multiply_part(const TilePart& x, std::size_t row, const Vector* factor,
                              const Product& product, Vector* y) {
#pragma GCC unroll 4
  for (std::size_t line = 0; line < kBlock; ++line) {
    const Vector row_factor = load(product.reflector + (row + line) * kLanes);
    Vector y_row = load(product.y + (row + line) * kLanes);
#pragma GCC unroll 4
    for (std::size_t column = 0; column < kTogether; ++column) {
      y_row = hn::MulAdd(x[line][column], factor[column], y_row);
      // A tile on the diagonal is stored completely, so its rows are enough.
      if constexpr (!kOnDiagonal) y[column] = hn::MulAdd(x[line][column], row_factor, y[column]);
    }
    store(y_row, product.y + (row + line) * kLanes);
  }
}

/// The state of one reduction.
struct Reduction {
  double* triangle;
  std::size_t order;
  Pairs pending, own;  // of the previous block, applied by the first sweep; of this block
  Product product;
  double *diagonal, *off_diagonal;

  double* tile(std::size_t row, std::size_t column) const {  // position in blocks
    return triangle +
           (column_block_offset(column, order) + (row - column) * kBlock * kBlock) * kLanes;
  }
};

/// Adds the matrix times the reflector, from column block `start` on, to product.y.
HWY_INLINE void multiply(const Reduction& state, std::size_t start) {
  const std::size_t blocks = state.order / kBlock;
  const Product& product = state.product;
  for (std::size_t block = start; block < blocks; ++block) {
    for (std::size_t part = 0; part < kBlock; part += kTogether) {
      double* y_columns = product.y + (block * kBlock + part) * kLanes;
      Vector factor[kTogether], y[kTogether];
#pragma GCC unroll 4
      for (std::size_t column = 0; column < kTogether; ++column) {
        factor[column] = load(product.reflector + (block * kBlock + part + column) * kLanes);
        y[column] = hn::Zero(Doubles());
      }
      TilePart x;
      load_part(state.tile(block, block), part, x);
      multiply_part<true>(x, block * kBlock, factor, product, y);
      for (std::size_t row = block + 1; row < blocks; ++row) {
        load_part(state.tile(row, block), part, x);
        multiply_part<false>(x, row * kBlock, factor, product, y);
      }
#pragma GCC unroll 4
      for (std::size_t column = 0; column < kTogether; ++column) {
        store(hn::Add(load(y_columns + column * kLanes), y[column]), y_columns + column * kLanes);
      }
    }
  }
}

/// Does the same for one tile, at (row, column) in blocks, after applying the pending update to it.
template <bool kOnDiagonal>
HWY_INLINE void update_and_multiply(const Reduction& state, std::size_t row, std::size_t column) {
  const Product& product = state.product;
  double* tile = state.tile(row, column);
  for (std::size_t part = 0; part < kBlock; part += kTogether) {
    const std::size_t place = (column * kBlock + part) * kLanes;
    TilePart x;
    load_part(tile, part, x);
    update_part(x, row * kBlock, column * kBlock + part, state.pending);
    store_part(x, tile, part);
    Vector factor[kTogether], y[kTogether];
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTogether; ++at) {
      factor[at] = load(product.reflector + place + at * kLanes);
      y[at] = load(product.y + place + at * kLanes);
    }
    multiply_part<kOnDiagonal>(x, row * kBlock, factor, product, y);
    if constexpr (kOnDiagonal) continue;
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTogether; ++at) {
      store(y[at], product.y + place + at * kLanes);
    }
  }
}

/// Does the same for all tiles from column block `first` on.
HWY_INLINE void update_and_multiply(const Reduction& state, std::size_t first) {
  const std::size_t blocks = state.order / kBlock;
  // Processes several columns of tiles at a time, so that the pairs of a row are loaded once for
  // them.
  constexpr std::size_t kAcross = 4;
  for (std::size_t start = first; start < blocks; start += kAcross) {
    for (std::size_t row = start; row < blocks; ++row) {
      const std::size_t end = std::min(start + kAcross, row);
      for (std::size_t column = start; column < end; ++column) {
        update_and_multiply<false>(state, row, column);
      }
      if (row < start + kAcross) update_and_multiply<true>(state, row, row);
    }
  }
}

/// Results of a column for its pair: the reflector's factor tau, and the products of the block's
/// earlier pairs with the reflector.
template <std::size_t kCount>
struct Made {
  Vector tau, with_v[kCount + 1], with_w[kCount + 1];

  HWY_INLINE Made() {}  // a generated one would lack the target attribute
};

/// Makes the reflector I − tau v vᵀ that clears column kCount of block `block` below its second
/// element. Subtracts the pending pairs from the column first, or else the earlier pairs of the
/// block. Writes the diagonal and the coupling.
template <std::size_t kCount, bool kPending>
HWY_INLINE Made<kCount> make_reflector(const Reduction& state, std::size_t block) {
  constexpr std::size_t kPairs = kPending ? kBlock : kCount;
  static_assert(!kPending || kCount == 0);
  const Doubles d;
  const Pairs& pairs = kPending ? state.pending : state.own;
  const std::size_t first = block * kBlock, column = first + kCount;
  const double* lines = state.tile(block, block);
  double* reflector = state.product.reflector;
  Made<kCount> made;
  Vector v[kPairs + 1], w[kPairs + 1];
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kPairs; ++k) {
    v[k] = load(pairs.v + (column * kBlock + k) * kLanes);
    w[k] = load(pairs.w + (column * kBlock + k) * kLanes);
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kCount; ++k) made.with_v[k] = made.with_w[k] = hn::Zero(d);
  // Computes the element of `row`, and its contribution to the products.
  const auto element = [&](std::size_t row, auto add) HWY_ATTR {
    Vector x = load(lines + ((row - first) * kBlock + kCount) * kLanes);
    Vector v_row[kPairs + 1], w_row[kPairs + 1];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kPairs; ++k) {
      v_row[k] = in_register(load(pairs.v + (row * kBlock + k) * kLanes));
      w_row[k] = in_register(load(pairs.w + (row * kBlock + k) * kLanes));
      x = hn::NegMulAdd(v_row[k], w[k], x);
      x = hn::NegMulAdd(w_row[k], v[k], x);
    }
    if constexpr (add.value) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kCount; ++k) {
        made.with_v[k] = hn::MulAdd(v_row[k], x, made.with_v[k]);
        made.with_w[k] = hn::MulAdd(w_row[k], x, made.with_w[k]);
      }
    }
    return x;
  };
  store(element(column, std::false_type()), state.diagonal + column * kLanes);
  for (std::size_t line = 0; line <= kCount; ++line) {
    store(hn::Zero(d), reflector + (first + line) * kLanes);
  }
  Vector square = hn::Zero(d);
  for (std::size_t row = column + 1; row < state.order; ++row) {
    const Vector x = element(row, std::true_type());
    store(x, reflector + row * kLanes);
    square = hn::MulAdd(x, x, square);
  }
  if (column + 1 >= state.order) {
    store(hn::Zero(d), state.off_diagonal + column * kLanes);
    made.tau = hn::Zero(d);
    return made;
  }
  double* head = reflector + (column + 1) * kLanes;
  const Vector alpha = load(head);
  const auto some = hn::Gt(square, hn::Set(d, kLeastSquare));
  const Vector norm = hn::Sqrt(square);
  const Vector beta = hn::IfThenElse(some, hn::Neg(hn::CopySign(norm, alpha)), alpha);
  const Vector first_v = hn::Sub(alpha, beta);
  store(beta, state.off_diagonal + column * kLanes);
  store(first_v, head);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kCount; ++k) {
    const std::size_t at = ((column + 1) * kBlock + k) * kLanes;
    made.with_v[k] = hn::NegMulAdd(load(pairs.v + at), beta, made.with_v[k]);
    made.with_w[k] = hn::NegMulAdd(load(pairs.w + at), beta, made.with_w[k]);
  }
  // Without a reflector, tau is 0, and so are its products.
  const Vector divisor = hn::IfThenElse(some, hn::Mul(beta, first_v), hn::Set(d, 1.0));
  made.tau = hn::IfThenElseZero(some, hn::Neg(hn::Div(hn::Set(d, 1.0), divisor)));
  return made;
}

/// Makes pair kCount of the block from the reflector of its column and its product with the matrix.
/// Subtracts the earlier pairs from the product first: w = tau y − ½ tau (tau yᵀv) v.
template <std::size_t kCount>
HWY_INLINE void add_pair(const Reduction& state, std::size_t block, const Made<kCount>& made) {
  const Doubles d;
  const Product& product = state.product;
  const std::size_t column = block * kBlock + kCount;
  // Several sums, because each addition waits for the previous one. The reflector is zero before
  // its first element.
  Vector inners[kBlock];
#pragma GCC unroll 4
  for (Vector& sum : inners) sum = hn::Zero(d);
  for (std::size_t row = block * kBlock; row < state.order; row += kBlock) {
#pragma GCC unroll 4
    for (std::size_t line = 0; line < kBlock; ++line) {
      const std::size_t at = (row + line) * kLanes;
      inners[line] = hn::MulAdd(load(product.y + at), load(product.reflector + at), inners[line]);
    }
  }
  Vector inner = hn::Add(hn::Add(inners[0], inners[1]), hn::Add(inners[2], inners[3]));
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kCount; ++k) {
    inner = hn::NegMulAdd(hn::Add(made.with_v[k], made.with_v[k]), made.with_w[k], inner);
  }
  const Vector tau = made.tau;
  const Vector share = hn::Mul(hn::Mul(hn::Set(d, -0.5), tau), hn::Mul(tau, inner));
  for (std::size_t row = block * kBlock; row < state.order; ++row) {
    const Vector reflector = load(product.reflector + row * kLanes);
    Vector y = load(product.y + row * kLanes);
    double* v = state.own.v + row * kBlock * kLanes;
    double* w = state.own.w + row * kBlock * kLanes;
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kCount; ++k) {
      y = hn::NegMulAdd(load(v + k * kLanes), made.with_w[k], y);
      y = hn::NegMulAdd(load(w + k * kLanes), made.with_v[k], y);
    }
    const Vector partner = hn::MulAdd(share, reflector, hn::Mul(tau, y));
    store(reflector, v + kCount * kLanes);
    store(row > column ? partner : hn::Zero(d), w + kCount * kLanes);
  }
}

/// Reduces column kCount of block `block`.
template <std::size_t kCount, bool kPending = false>
HWY_INLINE void reduce_column(const Reduction& state, std::size_t block) {
  const std::size_t column = block * kBlock + kCount;
  const Made<kCount> made = make_reflector<kCount, kPending>(state, block);
  if (column + 1 == state.order) return;
  std::fill(state.product.y + block * kBlock * kLanes, state.product.y + state.order * kLanes, 0.0);
  const std::size_t start = (column + 1) / kBlock;
  if constexpr (kPending) {
    update_and_multiply(state, start);
  } else {
    multiply(state, start);
  }
  add_pair<kCount>(state, block, made);
}

// The update of a block of columns is delayed until the first sweep of the next block, so that the
// matrix is written once per block. The other sweeps only read the matrix, and correct their
// products by the block's earlier pairs.
void batched_tridiagonal(double* triangle, std::size_t order, double* work, double* diagonal,
                         double* off_diagonal) {
  static_assert(kBlock == 4);
  const std::size_t size = order * kLanes;
  Reduction state{.triangle = triangle,
                  .order = order,
                  .pending = {work, work + kBlock * size},
                  .own = {work + 2 * kBlock * size, work + 3 * kBlock * size},
                  .product = {work + 4 * kBlock * size, work + (4 * kBlock + 1) * size},
                  .diagonal = diagonal,
                  .off_diagonal = off_diagonal};
  for (std::size_t block = 0; block < order / kBlock; ++block) {
    if (block == 0) {
      reduce_column<0>(state, block);
    } else {
      reduce_column<0, /*kPending=*/true>(state, block);
    }
    reduce_column<1>(state, block);
    reduce_column<2>(state, block);
    reduce_column<3>(state, block);
    std::swap(state.pending, state.own);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(batched_tridiagonal);

void batched_tridiagonal(Kernels kernels, double* triangle, std::size_t order, double* work,
                         double* diagonal, double* off_diagonal) {
  ATTNSCOPE_KERNEL(kernels, batched_tridiagonal)
  (triangle, order, work, diagonal, off_diagonal);
}

}  // namespace attnscope::kernels
#endif
