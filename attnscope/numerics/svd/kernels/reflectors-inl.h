// Short reflectors for chasing bulges along a band, in float64.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_REFLECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_REFLECTORS_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_REFLECTORS_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_REFLECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnscope/numerics/kernels/vectors-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Squared norms below this count as zero, because they would not be normal numbers.
constexpr double kLeastSquare = 0x1p-1000;

/// The reflector I − tau v vᵀ.
template <std::size_t kWidth>
struct Reflector {
  HWY_ALIGN double v[kWidth];
  double tau;
};

/// Makes the reflector that maps x (kWidth,) to a multiple of e_1, and returns this multiple.
template <std::size_t kWidth>
HWY_INLINE double make_reflector(const double* x, Reflector<kWidth>& out) {
  constexpr std::size_t kVectors = kWidth / kLanes;
  const Doubles d;
  Vector sum = hn::Zero(d);
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    const Vector values = hn::LoadU(d, x + part * kLanes);
    hn::Store(values, d, out.v + part * kLanes);
    sum = hn::MulAdd(values, values, sum);
  }
  const double square = hn::GetLane(hn::SumOfLanes(d, sum)), alpha = x[0];
  if (!(square > kLeastSquare)) {
    std::fill(out.v, out.v + kWidth, 0.0);
    out.tau = 0;
    return alpha;
  }
  const double beta = alpha > 0 ? -std::sqrt(square) : std::sqrt(square);
  out.v[0] = alpha - beta;
  out.tau = -1 / (beta * out.v[0]);
  return beta;
}

/// Replaces a block B (kWidth, kWidth), columns kNextColumn apart, by H' B H, where the next
/// reflector H' clears the first column.
template <std::size_t kWidth, std::size_t kNextColumn>
HWY_INLINE void pass_bulge(double* block, const Reflector<kWidth>& h, Reflector<kWidth>& next) {
  constexpr std::size_t kVectors = kWidth / kLanes;
  const Doubles d;
  Vector u[kVectors];
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) u[part] = hn::Zero(d);
  for (std::size_t column = 0; column < kWidth; ++column) {
    const Vector factor = hn::Set(d, h.v[column]);
#pragma GCC unroll 12
    for (std::size_t part = 0; part < kVectors; ++part) {
      u[part] =
          hn::MulAdd(hn::LoadU(d, block + column * kNextColumn + part * kLanes), factor, u[part]);
    }
  }
  const Vector tau = hn::Set(d, h.tau), first_factor = hn::Set(d, h.v[0]);
  HWY_ALIGN double first[kWidth];
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    u[part] = hn::Mul(u[part], tau);
    const Vector x = hn::LoadU(d, block + part * kLanes);
    hn::Store(hn::NegMulAdd(u[part], first_factor, x), d, first + part * kLanes);
    hn::StoreU(hn::Zero(d), d, block + part * kLanes);
  }
  block[0] = make_reflector(first, next);

  Vector v[kVectors];
#pragma GCC unroll 12
  for (std::size_t part = 0; part < kVectors; ++part) {
    v[part] = hn::Load(d, next.v + part * kLanes);
  }
  const Vector next_tau = hn::Set(d, next.tau);
  for (std::size_t group = 0; group < kVectors; ++group) {
    Vector dots[kLanes];
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t column = group * kLanes + lane;
      const Vector factor = hn::Set(d, h.v[column]);
      Vector dot = hn::Zero(d);
#pragma GCC unroll 12
      for (std::size_t part = 0; part < kVectors; ++part) {
        const Vector x = hn::LoadU(d, block + column * kNextColumn + part * kLanes);
        dot = hn::MulAdd(hn::NegMulAdd(u[part], factor, x), v[part], dot);
      }
      dots[lane] = dot;
    }
    HWY_ALIGN double w[kLanes];
    hn::Store(hn::Mul(next_tau, sums_of<kLanes>(dots)), d, w);
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t column = group * kLanes + lane;
      if (column == 0) continue;
      double* at = block + column * kNextColumn;
      const Vector factor = hn::Set(d, h.v[column]), w_factor = hn::Set(d, w[lane]);
#pragma GCC unroll 12
      for (std::size_t part = 0; part < kVectors; ++part) {
        const Vector x = hn::NegMulAdd(u[part], factor, hn::LoadU(d, at + part * kLanes));
        hn::StoreU(hn::NegMulAdd(v[part], w_factor, x), d, at + part * kLanes);
      }
    }
  }
}

/// Runs sweeps [first, last) over a band of order n and width kWidth, kSweeps at the same time.
/// step(sweep, block, reflector) moves a sweep's reflector from one block to the next.
template <std::size_t kWidth, class Step>
HWY_INLINE void run_sweeps(std::size_t n, std::size_t first, std::size_t last, const Step& step) {
  Reflector<kWidth> under_way[kSweeps];
  for (; first < last; first += kSweeps) {
    const std::size_t count = std::min(kSweeps, last - first);
    const std::size_t steps = (n - first - 1 + kWidth - 1) / kWidth;
    for (std::size_t time = 0; time < steps + 2 * (count - 1); ++time) {
      for (std::size_t lag = 0; lag < count && 2 * lag <= time; ++lag) {
        step(first + lag, time - 2 * lag, under_way[lag]);
      }
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
