// Reduces an upper band to a bidiagonal matrix by chasing bulges with short reflectors from both
// sides. Source: Lang, "Parallel reduction of banded matrices to bidiagonal form", 1996.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/band_chase.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/reflectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

constexpr std::size_t kVectors = kSide / kLanes;
/// Distance from an element to its right neighbor.
constexpr std::size_t kNextColumn = kUpperStep - 1;

HWY_INLINE double* element(double* band, std::size_t row, std::size_t column) {
  return band + column * kUpperStep + kUpperDiagonal + row - column;
}

/// Computes w = tau * (block ᵀ v) for reflector h.
HWY_INLINE void column_products(const double* block, const Reflector<kSide>& h, double* w) {
  const Doubles d;
  Vector v[kVectors];
#pragma GCC unroll 32
  for (std::size_t part = 0; part < kVectors; ++part) v[part] = hn::Load(d, h.v + part * kLanes);
  const Vector tau = hn::Set(d, h.tau);
  for (std::size_t group = 0; group < kVectors; ++group) {
    Vector dots[kLanes];
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double* column = block + (group * kLanes + lane) * kNextColumn;
      Vector dot = hn::Zero(d);
#pragma GCC unroll 32
      for (std::size_t part = 0; part < kVectors; ++part) {
        dot = hn::MulAdd(hn::LoadU(d, column + part * kLanes), v[part], dot);
      }
      dots[lane] = dot;
    }
    hn::Store(hn::Mul(tau, sums_of<kLanes>(dots)), d, w + group * kLanes);
  }
}

/// Replaces the block E right of the diagonal block by H E H', where the next reflector H' clears
/// its first row.
HWY_INLINE void pass_to_right(double* block, const Reflector<kSide>& h, Reflector<kSide>& next) {
  const Doubles d;
  HWY_ALIGN double w[kSide];
  HWY_ALIGN double first[kSide];
  column_products(block, h, w);
  for (std::size_t column = 0; column < kSide; ++column) {
    first[column] = block[column * kNextColumn] - h.v[0] * w[column];
  }
  const double beta = make_reflector(first, next);

  // y = tau' (E − v wᵀ) v'.
  Vector v[kVectors], y[kVectors], odd[kVectors];
  Vector inner = hn::Zero(d);
#pragma GCC unroll 32
  for (std::size_t part = 0; part < kVectors; ++part) {
    v[part] = hn::Load(d, h.v + part * kLanes);
    y[part] = odd[part] = hn::Zero(d);
    inner = hn::MulAdd(hn::Load(d, w + part * kLanes), hn::Load(d, next.v + part * kLanes), inner);
  }
  for (std::size_t column = 0; column < kSide; column += 2) {
    const double* at = block + column * kNextColumn;
    const Vector factor = hn::Set(d, next.v[column]), odd_factor = hn::Set(d, next.v[column + 1]);
#pragma GCC unroll 32
    for (std::size_t part = 0; part < kVectors; ++part) {
      y[part] = hn::MulAdd(hn::LoadU(d, at + part * kLanes), factor, y[part]);
      odd[part] = hn::MulAdd(hn::LoadU(d, at + kNextColumn + part * kLanes), odd_factor, odd[part]);
    }
  }
  const Vector share = hn::SumOfLanes(d, inner), next_tau = hn::Set(d, next.tau);
#pragma GCC unroll 32
  for (std::size_t part = 0; part < kVectors; ++part) {
    y[part] = hn::Mul(next_tau, hn::NegMulAdd(share, v[part], hn::Add(y[part], odd[part])));
  }
  for (std::size_t column = 0; column < kSide; ++column) {
    double* at = block + column * kNextColumn;
    const Vector w_factor = hn::Set(d, w[column]), factor = hn::Set(d, next.v[column]);
#pragma GCC unroll 32
    for (std::size_t part = 0; part < kVectors; ++part) {
      const Vector x = hn::NegMulAdd(v[part], w_factor, hn::LoadU(d, at + part * kLanes));
      hn::StoreU(hn::NegMulAdd(y[part], factor, x), d, at + part * kLanes);
    }
    at[0] = 0;
  }
  block[0] = beta;
}

/// Runs step `step` of the sweep that clears row `sweep`. Reflector `h`, from the right, is applied
/// to the diagonal block it was made for. A reflector from the left clears the resulting fill-in
/// and is applied to the next block. `h` becomes the reflector that clears the first row of that
/// block.
HWY_INLINE void chase_upper_step(double* band, std::size_t n, std::size_t sweep, std::size_t step,
                                 Reflector<kSide>& h) {
  const std::size_t start = sweep + 1 + step * kSide;
  if (start >= n) return;
  if (step == 0) {
    HWY_ALIGN double row[kSide];
    double* first = element(band, sweep, start);
    for (std::size_t column = 0; column < kSide; ++column) {
      row[column] = first[column * kNextColumn];
      first[column * kNextColumn] = 0;
    }
    first[0] = make_reflector(row, h);
  }
  Reflector<kSide> from_left;
  pass_bulge<kSide, kNextColumn>(element(band, start, start), h, from_left);
  if (start + kSide >= n) return;
  pass_to_right(element(band, start, start + kSide), from_left, h);
}

void chase_to_bidiagonal(double* band, std::size_t n, std::size_t first, std::size_t last) {
  run_sweeps<kSide>(n, first, last,
                    [&](std::size_t sweep, std::size_t block, Reflector<kSide>& h)
                        HWY_ATTR { chase_upper_step(band, n, sweep, block, h); });
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(chase_to_bidiagonal);

void chase_upper_band(Kernels kernels, double* band, std::size_t n, std::size_t first,
                      std::size_t last) {
  ATTNSCOPE_KERNEL(kernels, chase_to_bidiagonal)(band, n, first, last);
}

}  // namespace attnscope::kernels
#endif
