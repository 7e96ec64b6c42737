// Activation functions of MLPs in float32. Compiled once per instruction set. The error of each is
// at most 2.5e-7, or at most 1e-7 |x| if the value is small compared with x.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_ACTIVATIONS_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_ACTIVATIONS_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_ACTIVATIONS_INL_H_
#endif

#include <hwy/highway.h>

#include "attnscope/base/activation.h"
#include "attnscope/numerics/inference/kernels/exponential-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns x σ(y).
template <class D, class V>
HWY_INLINE V times_sigmoid(D d, V x, V y) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exponential(d, hn::Neg(y))));
}

/// Returns tanh x within 2 ulp.
template <class D, class V>
HWY_INLINE V hyperbolic_tangent(D d, V x) {
  const V size = hn::Abs(x);
  // For small |x|, 1 − 2 / (e²ˣ + 1) would lose digits. Uses x + x³ P(x²) instead, the best
  // polynomial for |x| ≤ 0.625, with an error of 4e-9.
  const V square = hn::Mul(x, x);
  V sum = hn::Set(d, -0.0057050003670156F);
  sum = hn::MulAdd(sum, square, hn::Set(d, 0.020639101043343544F));
  sum = hn::MulAdd(sum, square, hn::Set(d, -0.05373971909284592F));
  sum = hn::MulAdd(sum, square, hn::Set(d, 0.13331441581249237F));
  sum = hn::MulAdd(sum, square, hn::Set(d, -0.3333328068256378F));
  const V near = hn::MulAdd(hn::Mul(sum, square), x, x);
  const V one = hn::Set(d, 1.0F), two = hn::Set(d, 2.0F);
  const V far = hn::Sub(one, hn::Div(two, hn::Add(exponential(d, hn::Add(size, size)), one)));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625F)), near, hn::CopySign(far, x));
}

/// Returns x Φ(x) = max(x, 0) − |x| Φ(−|x|), without cancellation. ln Φ(−t) = t P(t) − ln 2 for t ≤
/// 6, where P minimizes the error of t Φ(−t), 8e-9. For larger t, the formula decreases, and Φ is
/// negligible compared with 1.
template <class D, class V>
HWY_INLINE V gaussian_error_linear(D d, V x) {
  const V size = hn::Abs(x);
  V sum = hn::Set(d, -1.965012870641658e-06F);
  sum = hn::MulAdd(sum, size, hn::Set(d, 2.729447624005843e-05F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -0.00012904976028949022F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -9.491891978541389e-05F));
  sum = hn::MulAdd(sum, size, hn::Set(d, 0.004895992577075958F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -0.03638758137822151F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -0.318298876285553F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -0.7978852987289429F));
  sum = hn::MulAdd(sum, size, hn::Set(d, -0x1.62e430p-1F));
  return hn::NegMulAdd(size, exponential(d, sum), hn::ZeroIfNegative(x));
}

/// Returns max(x, 0). NaN stays NaN, unlike with the maximum instruction of some CPUs.
template <class D, class V>
HWY_INLINE V positive_part(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
}

template <Activation kActivation, class D, class V>
HWY_INLINE V activated(D d, V x) {
  if constexpr (kActivation == Activation::gelu) {
    return gaussian_error_linear(d, x);
  } else if constexpr (kActivation == Activation::gelu_10) {
    const V most = hn::Set(d, 10.0F), least = hn::Set(d, -10.0F);
    const V y = gaussian_error_linear(d, x);
    return hn::IfThenElse(hn::Gt(y, most), most, hn::IfThenElse(hn::Lt(y, least), least, y));
  } else if constexpr (kActivation == Activation::gelu_tanh) {
    // (1 + tanh u) / 2 = σ(2u).
    const V twice = hn::Set(d, 2 * 0.7978845608028654F);
    const V cubed = hn::Mul(hn::Mul(x, x), x);
    return times_sigmoid(d, x, hn::Mul(twice, hn::MulAdd(cubed, hn::Set(d, 0.044715F), x)));
  } else if constexpr (kActivation == Activation::quick_gelu) {
    return times_sigmoid(d, x, hn::Mul(x, hn::Set(d, 1.702F)));
  } else if constexpr (kActivation == Activation::silu) {
    return times_sigmoid(d, x, x);
  } else if constexpr (kActivation == Activation::relu) {
    return positive_part(d, x);
  } else if constexpr (kActivation == Activation::relu_squared) {
    const V positive = positive_part(d, x);
    return hn::Mul(positive, positive);
  } else if constexpr (kActivation == Activation::tanh) {
    return hyperbolic_tangent(d, x);
  } else if constexpr (kActivation == Activation::sigmoid) {
    return times_sigmoid(d, hn::Set(d, 1.0F), x);
  } else if constexpr (kActivation == Activation::mish) {
    // With e = eˣ: tanh(ln(1 + e)) = e (e + 2) / (e (e + 2) + 2); 1 from x = 20 on.
    const V e = exponential(d, hn::Min(hn::Set(d, 20.0F), x)), two = hn::Set(d, 2.0F);
    const V both = hn::MulAdd(e, e, hn::Add(e, e));
    return hn::Mul(x, hn::Div(both, hn::Add(both, two)));
  } else {
    static_assert(kActivation == Activation::linear);
    return x;
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
