// Sturm sequences without divisions, for many points at once. Source: Barth, Martin & Wilkinson,
// "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method of bisection",
// 1967; here with the polynomials themselves, rescaled.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/sturm_sequences.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/vectors-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

using Integers = hn::ScalableTag<std::int64_t>;
using IntegerVector = hn::Vec<Integers>;

/// Number of registers of points evaluated together, to hide the latency of each step.
constexpr std::size_t kGroups = std::min<std::size_t>(4, kPoints / kLanes);
constexpr std::size_t kMaxGroups = std::min<std::size_t>(4, 2 * kPoints / kLanes);
/// Number of steps between rescalings. A step multiplies the last two values by at least 1e-18 and
/// at most 4, so sixteen steps neither overflow nor underflow.
constexpr std::size_t kSteps = 16;
constexpr int kMantissaBits = 52;
constexpr std::int64_t kExponentBias = 1023;

/// Evaluates the polynomial at `points`. Sets `below` only if kCounting.
template <bool kCounting, std::size_t kTogether>
HWY_INLINE void evaluate(const Tridiagonal& matrix, const double* points, double* mantissa,
                         std::int64_t* exponent, std::int64_t* below) {
  const Doubles d;
  const Integers di;
  const hn::RebindToUnsigned<Doubles> du;
  const Vector sign_bit = hn::SignBit(d);
  Vector x[kTogether], value[kTogether], before[kTogether], signs[kTogether];
  IntegerVector changes[kTogether], scale[kTogether];
#pragma GCC unroll 4
  for (std::size_t group = 0; group < kTogether; ++group) {
    x[group] = hn::LoadU(d, points + group * kLanes);
    value[group] = hn::Set(d, 1.0);
    before[group] = signs[group] = hn::Zero(d);
    changes[group] = scale[group] = hn::Zero(di);
  }
  // Processes one row: `older` becomes the newest value, and its sign the highest bit of the
  // history.
  const auto step = [&](std::size_t row, Vector* newer, Vector* older) HWY_ATTR {
    const Vector entry = hn::Set(d, matrix.diagonal[row]);
    const Vector coupling = hn::Set(d, matrix.off_squared[row]);
#pragma GCC unroll 4
    for (std::size_t group = 0; group < kTogether; ++group) {
      // Only one operation of the step depends on the newest value.
      older[group] =
          hn::MulSub(hn::Sub(entry, x[group]), newer[group], hn::Mul(coupling, older[group]));
      if constexpr (!kCounting) continue;
      const Vector history = hn::BitCast(d, hn::ShiftRight<1>(hn::BitCast(du, signs[group])));
      signs[group] = hn::OrAnd(history, older[group], sign_bit);
    }
  };
  for (std::size_t first = 0; first < matrix.order; first += kSteps) {
    const std::size_t last = std::min(first + kSteps, matrix.order);
    for (std::size_t row = first; row < last; row += 2) {
      step(row, value, before);
      step(row + 1, before, value);
    }
    const auto fresh = hn::Set(du, ~std::uint64_t{0} << (64 - (last - first)));
#pragma GCC unroll 4
    for (std::size_t group = 0; group < kTogether; ++group) {
      if constexpr (kCounting) {
        // Adjacent bits of the history differ where the sign changed.
        const auto history = hn::BitCast(du, signs[group]);
        const auto changed = hn::And(fresh, hn::Xor(history, hn::Add(history, history)));
        changes[group] = hn::Add(changes[group], hn::BitCast(di, hn::PopulationCount(changed)));
      }
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
  for (std::size_t group = 0; group < kTogether; ++group) {
    hn::StoreU(value[group], d, mantissa + group * kLanes);
    hn::StoreU(scale[group], di, exponent + group * kLanes);
    if constexpr (kCounting) hn::StoreU(changes[group], di, below + group * kLanes);
  }
}

void evaluate_all(const Tridiagonal& matrix, const double* points, double* mantissa,
                  std::int64_t* exponent, std::int64_t* below) {
  for (std::size_t first = 0; first < kPoints; first += kGroups * kLanes) {
    evaluate<true, kGroups>(matrix, points + first, mantissa + first, exponent + first,
                            below + first);
  }
}

/// Returns 2^exponent for exponents of at most 0, or 0 if that is not a normal number.
HWY_INLINE Vector power_of_two(IntegerVector exponent) {
  const Doubles d;
  const Integers di;
  const IntegerVector biased = hn::Add(exponent, hn::Set(di, kExponentBias));
  const IntegerVector bits = hn::ShiftLeft<kMantissaBits>(biased);
  return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(biased, hn::Zero(di))), hn::BitCast(d, bits));
}

/// Chooses the next points of kLanes brackets: interpolated and moved inwards, so that both ends
/// move. If that has not halved the bracket within some rounds, takes the midpoint. Source: after
/// Oliveira & Takahashi's interpolate-truncate-project, ACM TOMS 47, 2021.
HWY_INLINE void choose_points(const Brackets& brackets, std::size_t at, double tolerance,
                              double* points) {
  const Doubles d;
  const Integers di;
  const Vector left = hn::LoadU(d, brackets.left + at);
  const Vector width = hn::Sub(hn::LoadU(d, brackets.right + at), left);
  const Vector half = hn::Mul(width, hn::Set(d, 0.5)), middle = hn::Add(left, half);

  // Zero of the straight line between the ends.
  const IntegerVector left_exponent = hn::LoadU(di, brackets.left_exponent + at);
  const IntegerVector right_exponent = hn::LoadU(di, brackets.right_exponent + at);
  const IntegerVector top = hn::Max(left_exponent, right_exponent);
  const Vector at_left = hn::Mul(hn::Abs(hn::LoadU(d, brackets.left_mantissa + at)),
                                 power_of_two(hn::Sub(left_exponent, top)));
  const Vector at_right = hn::Mul(hn::Abs(hn::LoadU(d, brackets.right_mantissa + at)),
                                  power_of_two(hn::Sub(right_exponent, top)));
  const Vector sum = hn::Add(at_left, at_right);
  const Vector share =
      hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), hn::Div(at_left, sum), hn::Set(d, 0.5));
  const Vector crossing = hn::MulAdd(width, share, left);

  const Vector inwards = hn::Sub(middle, crossing);
  const Vector factor = hn::LoadU(d, brackets.shift_factor + at);
  const Vector shift = hn::Max(hn::Mul(factor, hn::Mul(width, width)), hn::Set(d, tolerance / 4));
  const Vector moved = hn::Add(crossing, hn::CopySign(hn::Min(shift, hn::Abs(inwards)), inwards));

  // If the bracket is wider than allowed, takes the midpoint, and allows half the width after three
  // rounds.
  const Vector allowed = hn::LoadU(d, brackets.allowed_width + at);
  const auto behind = hn::Gt(width, allowed);
  const Vector next_allowed =
      hn::IfThenElse(behind, hn::Add(width, width), hn::Mul(allowed, hn::Set(d, 0.5)));
  hn::StoreU(next_allowed, d, brackets.allowed_width + at);

  const Vector inner = hn::Sub(half, hn::Set(d, tolerance / 4));  // not at an end
  const Vector inside = hn::Min(hn::Max(moved, hn::Sub(middle, inner)), hn::Add(middle, inner));
  hn::StoreU(hn::IfThenElse(behind, middle, inside), d, points);
}

/// Writes `ours` to `place` where `condition` is set.
template <class Tag, class Mask>
HWY_INLINE void replace_where(Tag tag, Mask condition, hn::Vec<Tag> ours, hn::TFromD<Tag>* place) {
  hn::StoreU(hn::IfThenElse(condition, ours, hn::LoadU(tag, place)), tag, place);
}

template <std::size_t kCount, std::size_t kTogether>
HWY_INLINE void narrow(const Tridiagonal& matrix, const Brackets& brackets, std::size_t first,
                       int rounds, double tolerance) {
  const Doubles d;
  const Integers di;
  HWY_ALIGN double points[kCount], mantissa[kCount];
  HWY_ALIGN std::int64_t exponent[kCount];
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t at = 0; at < kCount; at += kLanes) {
      choose_points(brackets, first + at, tolerance, points + at);
    }
    for (std::size_t at = 0; at < kCount; at += kTogether * kLanes) {
      evaluate<false, kTogether>(matrix, points + at, mantissa + at, exponent + at, nullptr);
    }
    for (std::size_t at = 0; at < kCount; at += kLanes) {
      const IntegerVector index = hn::LoadU(di, brackets.index + first + at);
      const Vector point = hn::LoadU(d, points + at), value = hn::LoadU(d, mantissa + at);
      // The sign gives the parity of the number of eigenvalues below. If it differs from that of
      // the left end, the point becomes the right end.
      const IntegerVector parity = hn::Xor(hn::ShiftLeft<63>(index), hn::BitCast(di, value));
      const auto above = hn::Lt(parity, hn::Zero(di));
      const auto above_real = hn::RebindMask(d, above);
      const IntegerVector scale = hn::LoadU(di, exponent + at);
      replace_where(d, above_real, point, brackets.right + first + at);
      replace_where(d, above_real, value, brackets.right_mantissa + first + at);
      replace_where(di, above, scale, brackets.right_exponent + first + at);
      replace_where(d, hn::Not(above_real), point, brackets.left + first + at);
      replace_where(d, hn::Not(above_real), value, brackets.left_mantissa + first + at);
      replace_where(di, hn::Not(above), scale, brackets.left_exponent + first + at);
    }
  }
}

void narrow_batches(const Tridiagonal& matrix, const Brackets& brackets, std::size_t first,
                    std::size_t batches, int rounds, double tolerance) {
  if (batches == 2) {
    narrow<2 * kPoints, kMaxGroups>(matrix, brackets, first, rounds, tolerance);
  } else {
    narrow<kPoints, kGroups>(matrix, brackets, first, rounds, tolerance);
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(evaluate_all);
HWY_EXPORT(narrow_batches);

void sturm_sequences(Kernels kernels, const Tridiagonal& matrix, const double* points,
                     double* mantissa, std::int64_t* exponent, std::int64_t* below) {
  ATTNSCOPE_KERNEL(kernels, evaluate_all)(matrix, points, mantissa, exponent, below);
}

void narrow_brackets(Kernels kernels, const Tridiagonal& matrix, const Brackets& brackets,
                     std::size_t first, std::size_t batches, int rounds, double tolerance) {
  ATTNSCOPE_KERNEL(kernels, narrow_batches)(matrix, brackets, first, batches, rounds, tolerance);
}

}  // namespace attnscope::kernels
#endif
