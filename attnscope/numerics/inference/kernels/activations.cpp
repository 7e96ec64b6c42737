// Activation functions of many values, in place.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/activations.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/inference/kernels/activations-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Replaces all values by function(d, vector).
template <class Function>
HWY_INLINE void replace(float* values, std::size_t count, const Function& function) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t kWidth = hn::MaxLanes(d);
  std::size_t at = 0;
  for (; at + kWidth <= count; at += kWidth) {
    hn::StoreU(function(d, hn::LoadU(d, values + at)), d, values + at);
  }
  if (at == count) return;
  HWY_ALIGN float rest[kWidth] = {};
  std::copy(values + at, values + count, rest);
  hn::Store(function(d, hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (count - at), values + at);
}

template <Activation kActivation>
void replace_by(float* values, std::size_t count) {
  replace(values, count, [](auto d, auto x) HWY_ATTR { return activated<kActivation>(d, x); });
}

void activate(Activation activation, float* values, std::size_t count) {
  switch (activation) {
    case Activation::linear: return;
    case Activation::gelu: return replace_by<Activation::gelu>(values, count);
    case Activation::gelu_tanh: return replace_by<Activation::gelu_tanh>(values, count);
    case Activation::quick_gelu: return replace_by<Activation::quick_gelu>(values, count);
    case Activation::gelu_10: return replace_by<Activation::gelu_10>(values, count);
    case Activation::silu: return replace_by<Activation::silu>(values, count);
    case Activation::relu: return replace_by<Activation::relu>(values, count);
    case Activation::relu_squared: return replace_by<Activation::relu_squared>(values, count);
    case Activation::tanh: return replace_by<Activation::tanh>(values, count);
    case Activation::sigmoid: return replace_by<Activation::sigmoid>(values, count);
    case Activation::mish: return replace_by<Activation::mish>(values, count);
  }
}

void cap(float limit, float* values, std::size_t count) {
  replace(values, count, [limit](auto d, auto x) HWY_ATTR {
    const auto all = hn::Set(d, limit);
    return hn::Mul(all, hyperbolic_tangent(d, hn::Div(x, all)));
  });
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(activate);
HWY_EXPORT(cap);

void activate_values(Kernels kernels, Activation activation, float* values, std::size_t count) {
  ATTNSCOPE_KERNEL(kernels, activate)(activation, values, count);
}

void cap_values(Kernels kernels, float limit, float* values, std::size_t count) {
  ATTNSCOPE_KERNEL(kernels, cap)(limit, values, count);
}

}  // namespace attnscope::kernels
#endif
