// Eigenvalues of many small tridiagonal matrices, one per lane, by QR sweeps without square roots
// (Pal, Walker and Kahan; LAPACK's dsterf). Each lane has its own shifts and its own end. Small
// eigenvalues are found first, at the end where the reduction to this form leaves them.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/batched_eigenvalues.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/vectors-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Same limit as LAPACK; about 1.3 sweeps per value are enough.
constexpr std::size_t kSweepsPerValue = 30;

// Limits relative to a largest element of 1 to 2:

/// Lower limit of the divisor of a rotation. An error of this size on the diagonal is negligible.
constexpr double kLeastGamma = 1e-30;
/// Squared couplings below this count as zero. A sweep may never reduce smaller ones, because the
/// rounding of shifts is larger.
constexpr double kLeastCoupling = 0x1p-102;
/// Lower limit of the largest element, used for zero matrices.
constexpr double kLeastUnit = 0x1p-1000;

/// State of the matrices of one group. Their eigenvalues end up in `diagonal`.
struct Lanes {
  double *diagonal, *off_squared;  // (order + 1, lanes); off_squared[i] couples i and i + 1
  Vector last;                     // last coupled row
  Vector end;                      // the same; −1 if no row is coupled and the sweep does nothing
  Vector unit;                     // power of two by which the matrix was divided
  Vector shift, gamma, p, s, alpha;

  HWY_INLINE Lanes() {}  // a generated one would lack the target attribute
};

/// Sorts each lane by Batcher's network.
HWY_INLINE void sort(double* values, std::size_t count) {
  for (std::size_t merged = 1; merged < count; merged *= 2) {
    for (std::size_t step = merged; step > 0; step /= 2) {
      for (std::size_t first = step % merged; first + step < count; first += 2 * step) {
        const std::size_t end = std::min(step, count - first - step);
        for (std::size_t at = first; at < first + end; ++at) {
          if ((at ^ (at + step)) >= 2 * merged) continue;  // their runs are merged later
          double *lower = values + at * kLanes, *upper = lower + step * kLanes;
          const Vector a = load(lower), b = load(upper);
          store(hn::Min(a, b), lower);
          store(hn::Max(a, b), upper);
        }
      }
    }
  }
}

/// Returns, for each lane, the element in its own row.
HWY_INLINE Vector element(const double* of, Vector row) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> integers;
  const auto lane = hn::Iota(integers, 0);
  const auto place = hn::Add(
      hn::Mul(hn::ConvertTo(integers, row), hn::Set(integers, static_cast<std::int64_t>(kLanes))),
      lane);
  return hn::GatherIndex(d, of, place);
}

HWY_INLINE Vector not_zero(Vector gamma) {
  const Vector least = hn::Set(Doubles(), kLeastGamma);
  return hn::IfThenElse(hn::Lt(hn::Abs(gamma), least), least, gamma);
}

/// Divides each matrix by its unit, squares the couplings, and marks all rows as coupled.
HWY_INLINE void start_group(Lanes& group, std::size_t order) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  Vector largest = hn::Set(d, kLeastUnit);
  store(hn::Zero(d), group.off_squared + (order - 1) * kLanes);
  for (std::size_t row = 0; row < order; ++row) {
    const Vector coupling = load(group.off_squared + row * kLanes);
    const Vector diagonal = load(group.diagonal + row * kLanes);
    largest = hn::Max(largest, hn::Max(hn::Abs(coupling), hn::Abs(diagonal)));
  }
  const auto exponent = hn::And(hn::BitCast(bits, largest), hn::Set(bits, 0x7FF0'0000'0000'0000));
  group.unit = hn::BitCast(d, exponent);
  const Vector scale = hn::Div(hn::Set(d, 1.0), group.unit);
  for (std::size_t row = 0; row < order; ++row) {
    double *diagonal = group.diagonal + row * kLanes, *off = group.off_squared + row * kLanes;
    const Vector coupling = hn::Mul(load(off), scale);
    store(hn::Mul(coupling, coupling), off);
    store(hn::Mul(load(diagonal), scale), diagonal);
  }
  store(hn::Zero(d), group.diagonal + order * kLanes);
  group.last = hn::Set(d, static_cast<double>(order - 1));
}

/// Multiplies the eigenvalues by the unit and sorts them.
HWY_INLINE void finish_group(const Lanes& group, std::size_t order) {
  for (std::size_t row = 0; row < order; ++row) {
    double* at = group.diagonal + row * kLanes;
    store(hn::Mul(load(at), group.unit), at);
  }
  sort(group.diagonal, order);
}

/// Splits off converged eigenvalues at the end of each matrix, and chooses the next shifts. Returns
/// the last coupled row of the group, or 0 if there is none.
HWY_INLINE std::size_t start_sweep(Lanes& group) {
  const Doubles d;
  const Vector zero = hn::Zero(d), one = hn::Set(d, 1.0);
  Vector before, coupling;
  for (;;) {
    before = hn::Max(hn::Sub(group.last, one), zero);
    coupling = element(group.off_squared, before);
    const auto done =
        hn::And(hn::Le(coupling, hn::Set(d, kLeastCoupling)), hn::Gt(group.last, zero));
    if (hn::AllFalse(d, done)) break;
    HWY_ALIGN double rows[kLanes];
    HWY_ALIGN double splits[kLanes];
    store(before, rows);
    store(hn::IfThenElseZero(done, one), splits);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (splits[lane] == 0) continue;
      group.off_squared[static_cast<std::size_t>(rows[lane]) * kLanes + lane] = 0;
    }
    group.last = hn::IfThenElse(done, before, group.last);
  }
  // Wilkinson shift: the eigenvalue of the last 2 × 2 block that is closer to the last element.
  const Vector corner = element(group.diagonal, group.last);
  const Vector half = hn::Mul(hn::Set(d, 0.5), hn::Sub(element(group.diagonal, before), corner));
  const Vector root = hn::Sqrt(hn::MulAdd(half, half, coupling));
  const Vector distance = hn::Add(half, hn::CopySign(root, half));
  const auto active = hn::Gt(group.last, zero);
  group.end = hn::IfThenElse(active, group.last, hn::Set(d, -1.0));
  group.shift = hn::IfThenElseZero(active, hn::Sub(corner, hn::Div(coupling, distance)));
  group.alpha = load(group.diagonal);
  group.gamma = not_zero(hn::Sub(group.alpha, group.shift));
  group.p = hn::Mul(group.gamma, group.gamma);
  group.s = zero;
  return static_cast<std::size_t>(hn::GetLane(hn::MaxOfLanes(d, group.last)));
}

/// Applies rotation `row` of the sweep in every lane. A zero coupling, as at the end of each
/// matrix, gives the identity.
HWY_INLINE void rotate(Lanes& group, std::size_t row) {
  const Doubles d;
  double* at = group.diagonal + row * kLanes;
  const Vector coupling = load(group.off_squared + row * kLanes);
  const Vector r = hn::Add(group.p, coupling);
  if (row > 0) store(hn::Mul(group.s, r), group.off_squared + (row - 1) * kLanes);
  // A single division gives p / r, its inverse, and coupling / r.
  const Vector inverse = hn::Div(hn::Set(d, 1.0), hn::Mul(r, group.p));
  const Vector inverse_r = hn::Mul(group.p, inverse);
  const Vector inverse_c = hn::Mul(r, hn::Mul(r, inverse));
  const Vector c = hn::Mul(group.p, inverse_r);
  group.s = hn::Mul(coupling, inverse_r);
  const Vector below = load(at + kLanes);
  const Vector gamma =
      not_zero(hn::NegMulAdd(group.s, group.gamma, hn::Mul(c, hn::Sub(below, group.shift))));
  const Vector value = hn::Add(group.gamma, hn::Sub(below, gamma));
  const auto inside = hn::Le(hn::Set(d, static_cast<double>(row)), group.end);
  store(hn::IfThenElse(inside, value, group.alpha), at);
  group.alpha = below;
  group.gamma = gamma;
  group.p = hn::Mul(hn::Mul(gamma, gamma), inverse_c);
}

/// Runs a sweep of all groups, down to row `last`. Copies the state, so that it stays in registers.
template <std::size_t kCount>
HWY_INLINE void sweep_groups(const Lanes* groups, std::size_t last) {
  Lanes state[kCount];
#pragma GCC unroll 4
  for (std::size_t g = 0; g < kCount; ++g) state[g] = groups[g];
  for (std::size_t row = 0; row <= last; ++row) {
#pragma GCC unroll 4
    for (std::size_t g = 0; g < kCount; ++g) rotate(state[g], row);
  }
}

template <std::size_t kCount>
HWY_INLINE bool eigenvalues_of_groups(double* diagonal, double* off_diagonal, std::size_t order) {
  Lanes groups[kCount];
  for (std::size_t g = 0; g < kCount; ++g) {
    groups[g].diagonal = diagonal + g * (order + 1) * kLanes;
    groups[g].off_squared = off_diagonal + g * (order + 1) * kLanes;
    start_group(groups[g], order);
  }
  for (std::size_t sweep = 0; sweep < kSweepsPerValue * order; ++sweep) {
    std::size_t last = 0;
    for (std::size_t g = 0; g < kCount; ++g) last = std::max(last, start_sweep(groups[g]));
    if (last == 0) {
      for (std::size_t g = 0; g < kCount; ++g) finish_group(groups[g], order);
      return true;
    }
    sweep_groups<kCount>(groups, last);
  }
  return false;
}

bool batched_eigenvalues(double* diagonal, double* off_diagonal, std::size_t order,
                         std::size_t groups) {
  static_assert(kGroups == 4);
  switch (groups) {
    case 1: return eigenvalues_of_groups<1>(diagonal, off_diagonal, order);
    case 2: return eigenvalues_of_groups<2>(diagonal, off_diagonal, order);
    case 3: return eigenvalues_of_groups<3>(diagonal, off_diagonal, order);
    default: return eigenvalues_of_groups<4>(diagonal, off_diagonal, order);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(batched_eigenvalues);

bool batched_eigenvalues(Kernels kernels, double* diagonal, double* off_diagonal, std::size_t order,
                         std::size_t groups) {
  return ATTNSCOPE_KERNEL(kernels, batched_eigenvalues)(diagonal, off_diagonal, order, groups);
}

}  // namespace attnscope::kernels
#endif
