// The exponential function in float32. Compiled once per instruction set.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_EXPONENTIAL_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_EXPONENTIAL_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_EXPONENTIAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns eˣ of float32 lanes within 1 ulp. Below −87 it returns 0, because subnormal results take
/// some CPUs a hundred times as long. +Inf on overflow. NaN stays NaN.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  const hn::RebindToSigned<D> integers;
  // x = n ln 2 + r with an integer n, |r| ≤ ln 2 / 2. Adding 1.5 · 2²³ rounds to an integer, which
  // is then in the lowest bits. Adding 126 to n gives the exponent field of 2ⁿ⁻¹. 2ⁿ would overflow
  // at n = 128, although results are still in range there.
  const V shifter = hn::Set(d, 0x1.8p23F + 126.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0F), shifter);
  const V n = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e430p-1F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -0x1.05c610p-29F), r);
  // 2 eʳ: the best polynomial of degree 6 with the first two coefficients of the series; its error
  // is 3e-9.
  V sum = hn::Set(d, 2 * 0.0013814590638503432F);
  sum = hn::MulAdd(sum, r, hn::Set(d, 2 * 0.0083687175065279F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 2 * 0.04166838899254799F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 2 * 0.1666652113199234F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 2 * 0.4999999403953552F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 2.0F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 2.0F));
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
  V out = hn::Mul(sum, scale);
  out = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0F)), out);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 0x1.62e42ep6F)),
                        hn::Set(d, std::numeric_limits<float>::infinity()), out);
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
