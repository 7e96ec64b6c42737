// Reduces a band to a tridiagonal matrix by chasing bulges with short reflectors. Source: Bischof,
// Lang & Sun, "A framework for symmetric band reduction", 2000.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/tridiagonal_chase.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/reflectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

constexpr std::size_t kVectors = kTile / kLanes;
/// Distance from an element to its right neighbor.
constexpr std::size_t kNextColumn = kBandStep - 1;

/// Returns the lanes of part `part` of a column that are at or below row `row`, or strictly below
/// it.
template <bool kWithDiagonal>
HWY_INLINE auto lower_lanes(std::size_t row, std::size_t part) {
  const Doubles d;
  const double offset = static_cast<double>(row) - static_cast<double>(part * kLanes);
  const Vector lane = hn::Iota(d, 0.0), first = hn::Set(d, offset);
  return kWithDiagonal ? hn::Ge(lane, first) : hn::Gt(lane, first);
}

/// Replaces the diagonal block D (kTile, kTile), whose lower triangle is in the band, by H D H.
HWY_INLINE void reflect_diagonal(double* block, const Reflector<kTile>& h) {
  const Doubles d;
  HWY_ALIGN double lower[kTileSize];
  HWY_ALIGN double w[kTile];
  Vector v[kVectors], product[kVectors];
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    v[part] = hn::Load(d, h.v + part * kLanes);
    product[part] = hn::Zero(d);
  }
  // D v: columns of the lower triangle give the part right of the diagonal, and their sums the part
  // left of it.
#pragma GCC unroll 12
  for (std::size_t group = 0; group < kVectors; ++group) {
    Vector dots[kLanes];
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t column = group * kLanes + lane;
      const Vector factor = hn::Set(d, h.v[column]);
      Vector dot = hn::Zero(d);
#pragma GCC unroll 12
      for (std::size_t part = group; part < kVectors; ++part) {
        Vector x = hn::LoadU(d, block + column * kNextColumn + part * kLanes);
        if (part == group) x = hn::IfThenElseZero(lower_lanes<true>(column, part), x);
        hn::Store(x, d, lower + column * kTile + part * kLanes);
        product[part] = hn::MulAdd(x, factor, product[part]);
        if (part == group) x = hn::IfThenElseZero(lower_lanes<false>(column, part), x);
        dot = hn::MulAdd(x, v[part], dot);
      }
      dots[lane] = dot;
    }
    hn::Store(sums_of<kLanes>(dots), d, w + group * kLanes);
  }
  const Vector tau = hn::Set(d, h.tau);
  Vector inner = hn::Zero(d);
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    product[part] = hn::Mul(tau, hn::Add(product[part], hn::Load(d, w + part * kLanes)));
    inner = hn::MulAdd(product[part], v[part], inner);
  }
  const Vector share = hn::Mul(hn::Set(d, -0.5 * h.tau), hn::SumOfLanes(d, inner));
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    product[part] = hn::MulAdd(share, v[part], product[part]);
    hn::Store(product[part], d, w + part * kLanes);
  }
  // D −= v wᵀ + w vᵀ.
#pragma GCC unroll 12
  for (std::size_t group = 0; group < kVectors; ++group) {
    for (std::size_t column = group * kLanes; column < (group + 1) * kLanes; ++column) {
      const Vector v_factor = hn::Set(d, h.v[column]), w_factor = hn::Set(d, w[column]);
#pragma GCC unroll 12
      for (std::size_t part = group; part < kVectors; ++part) {
        double* at = block + column * kNextColumn + part * kLanes;
        Vector x = hn::Load(d, lower + column * kTile + part * kLanes);
        x = hn::NegMulAdd(v[part], w_factor, x);
        x = hn::NegMulAdd(product[part], v_factor, x);
        if (part == group) {
          hn::BlendedStore(x, lower_lanes<true>(column, part), d, at);
        } else {
          hn::StoreU(x, d, at);
        }
      }
    }
  }
}

/// Runs step `step` of the sweep that clears column `sweep`. Applies reflector `h` to the block it
/// was made for, and replaces it by the reflector of the next block.
HWY_INLINE void chase_step(double* band, std::size_t n, std::size_t sweep, std::size_t step,
                           Reflector<kTile>& h) {
  const std::size_t start = sweep + 1 + step * kTile;
  if (start >= n) return;
  if (step == 0) {
    double* column = band + sweep * kBandStep + 1;
    const double beta = make_reflector(column, h);
    std::fill(column, column + kTile, 0.0);
    column[0] = beta;
  }
  double* block = band + start * kBandStep;
  reflect_diagonal(block, h);
  if (start + kTile >= n) return;
  Reflector<kTile> next;
  pass_bulge<kTile, kNextColumn>(block + kTile, h, next);
  h = next;
}

void chase_to_tridiagonal(double* band, std::size_t n, std::size_t first, std::size_t last) {
  run_sweeps<kTile>(n, first, last,
                    [&](std::size_t sweep, std::size_t block, Reflector<kTile>& h)
                        HWY_ATTR { chase_step(band, n, sweep, block, h); });
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(chase_to_tridiagonal);

void chase_to_tridiagonal(Kernels kernels, double* band, std::size_t n, std::size_t first,
                          std::size_t last) {
  ATTNSCOPE_KERNEL(kernels, chase_to_tridiagonal)(band, n, first, last);
}

}  // namespace attnscope::kernels
#endif
