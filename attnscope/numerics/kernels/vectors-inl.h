// Registers of float64, and operations shared by several kernels. Compiled once per instruction
// set.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_VECTORS_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_VECTORS_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Vector = hn::Vec<Doubles>;

constexpr std::size_t kLanes = hn::MaxLanes(Doubles());

/// Loads kLanes elements from `at` on, which must be aligned.
HWY_INLINE Vector load(const double* at) { return hn::Load(Doubles(), at); }
HWY_INLINE void store(Vector value, double* at) { hn::Store(value, Doubles(), at); }

/// Loads kLanes elements from `at` on as float64.
HWY_INLINE Vector load_float64(const double* at) { return hn::LoadU(Doubles(), at); }
HWY_INLINE Vector load_float64(const float* at) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), at));
}

/// Forces x to be read from memory once. GCC would read it again for each use, because it considers
/// memory operands free.
HWY_INLINE Vector in_register(Vector x) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(x.raw));
#endif
  return x;
}

/// Returns a vector whose lane i is the sum of the lanes of x[i], i < kCount.
template <std::size_t kCount>
HWY_INLINE Vector sums_of(const Vector* x) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kCount > 1) {
    const Doubles d;
    const Vector low = sums_of<kCount / 2>(x), high = sums_of<kCount / 2>(x + kCount / 2);
    return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  }
#endif
  return x[0];
}

/// Transposes: lane c of x[r] becomes lane r of x[c].
HWY_INLINE void transpose([[maybe_unused]] Vector (&x)[kLanes]) {
#if HWY_TARGET != HWY_SCALAR
  const Doubles d;
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kLanes; row += 2) {
    const Vector a = x[row], b = x[row + 1];
    x[row] = hn::InterleaveLower(d, a, b);
    x[row + 1] = hn::InterleaveUpper(d, a, b);
  }
  if constexpr (kLanes >= 4) {  // blocks of two lanes
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kLanes; ++row) {
      if (row & 2) continue;
      const Vector a = x[row], b = x[row + 2];
      x[row] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      x[row + 2] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    }
  }
  if constexpr (kLanes >= 8) {  // halves
#pragma GCC unroll 8
    for (std::size_t row = 0; row < 4; ++row) {
      const Vector a = x[row], b = x[row + 4];
      x[row] = hn::ConcatLowerLower(d, b, a);
      x[row + 4] = hn::ConcatUpperUpper(d, b, a);
    }
  }
#endif
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
