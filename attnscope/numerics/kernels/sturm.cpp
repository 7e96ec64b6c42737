// Sturm sequences without divisions, many points at once.
// Source: Barth, Martin & Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal
// matrix by the method of bisection", 1967; here as the polynomials themselves, rescaled.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/kernels/sturm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Integers = hn::ScalableTag<std::int64_t>;
using Vector = hn::Vec<Doubles>;
using IntegerVector = hn::Vec<Integers>;

constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
/// Registers of points that are under way together, to hide the latency of each step.
constexpr std::size_t kGroups = std::min<std::size_t>(4, kSturmShifts / kLanes);
/// Steps between rescalings. A step multiplies by at least 1e-18 and at most 4 of what the two
/// values before it were, so that sixteen neither overflow nor vanish.
constexpr std::size_t kSteps = 16;
constexpr int kMantissaBits = 52;
constexpr std::int64_t kExponentBias = 1023;

HWY_INLINE void evaluate(const double* HWY_RESTRICT diagonal,
                         const double* HWY_RESTRICT off_squared, std::size_t n,
                         const double* points, double* mantissa, std::int64_t* exponent,
                         std::int64_t* below) {
  const Doubles d;
  const Integers di;
  Vector x[kGroups], value[kGroups], before[kGroups];
  IntegerVector changes[kGroups], scale[kGroups];
#pragma GCC unroll 4
  for (std::size_t group = 0; group < kGroups; ++group) {
    x[group] = hn::LoadU(d, points + group * kLanes);
    value[group] = hn::Set(d, 1.0);
    before[group] = hn::Zero(d);
    changes[group] = hn::Zero(di);
    scale[group] = hn::Zero(di);
  }
  for (std::size_t first = 0; first < n; first += kSteps) {
    for (std::size_t at = first; at < std::min(first + kSteps, n); ++at) {
      const Vector entry = hn::Set(d, diagonal[at]), coupling = hn::Set(d, off_squared[at]);
#pragma GCC unroll 4
      for (std::size_t group = 0; group < kGroups; ++group) {
        const Vector next = hn::NegMulAdd(coupling, before[group],
                                          hn::Mul(hn::Sub(entry, x[group]), value[group]));
        // The arithmetic shift makes −1 of a change of sign.
        const IntegerVector signs =
            hn::Xor(hn::BitCast(di, next), hn::BitCast(di, value[group]));
        changes[group] = hn::Add(changes[group], hn::ShiftRight<63>(signs));
        before[group] = value[group];
        value[group] = next;
      }
    }
#pragma GCC unroll 4
    for (std::size_t group = 0; group < kGroups; ++group) {
      const Vector largest = hn::Max(hn::Abs(value[group]), hn::Abs(before[group]));
      const IntegerVector bits = hn::ShiftRight<kMantissaBits>(hn::BitCast(di, largest));
      const Vector factor = hn::BitCast(
          d, hn::ShiftLeft<kMantissaBits>(hn::Sub(hn::Set(di, 2 * kExponentBias), bits)));
      value[group] = hn::Mul(value[group], factor);
      before[group] = hn::Mul(before[group], factor);
      scale[group] = hn::Add(scale[group], hn::Sub(bits, hn::Set(di, kExponentBias)));
    }
  }
#pragma GCC unroll 4
  for (std::size_t group = 0; group < kGroups; ++group) {
    hn::StoreU(value[group], d, mantissa + group * kLanes);
    hn::StoreU(scale[group], di, exponent + group * kLanes);
    hn::StoreU(hn::Neg(changes[group]), di, below + group * kLanes);
  }
}

void sturm_sequences(const double* diagonal, const double* off_squared, std::size_t n,
                     const double* points, double* mantissa, std::int64_t* exponent,
                     std::int64_t* below) {
  for (std::size_t first = 0; first < kSturmShifts; first += kGroups * kLanes) {
    evaluate(diagonal, off_squared, n, points + first, mantissa + first, exponent + first,
             below + first);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(sturm_sequences);

void sturm_sequences(const double* diagonal, const double* off_squared, std::size_t n,
                     const double* points, double* mantissa, std::int64_t* exponent,
                     std::int64_t* below) {
  HWY_DYNAMIC_DISPATCH(sturm_sequences)
  (diagonal, off_squared, n, points, mantissa, exponent, below);
}

}  // namespace attnscope::kernels
#endif
