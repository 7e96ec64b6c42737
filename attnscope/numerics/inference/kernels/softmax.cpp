// Sums over rows of scores in float64, with terms in float32 or in float64.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>  // once for each instruction set, so after those

#include <algorithm>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/exponential-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float largest_of_row(std::span<const float> x) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  float largest = x.front();
  std::size_t at = 0;
  if (x.size() >= 2 * kLanes) {
    auto even = hn::LoadU(d, x.data()), odd = even;  // two chains hide the latency
    for (; at + 2 * kLanes <= x.size(); at += 2 * kLanes) {
      even = hn::Max(even, hn::LoadU(d, x.data() + at));
      odd = hn::Max(odd, hn::LoadU(d, x.data() + at + kLanes));
    }
    largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
  }
  for (; at < x.size(); ++at) largest = std::max(largest, x[at]);
  return largest;
}

/// Returns the float64 sum of the float32 terms term(tag, at), for whole registers and then for
/// single elements.
template <class Term>
HWY_INLINE double sum_of_terms(std::size_t count, const Term& term) {
  const hn::ScalableTag<double> doubles;
  const hn::Rebind<float, decltype(doubles)> d;
  const hn::CappedTag<float, 1> one;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  auto even = hn::Zero(doubles), odd = even;  // two chains hide the latency
  std::size_t at = 0;
  for (; at + 2 * kLanes <= count; at += 2 * kLanes) {
    even = hn::Add(even, hn::PromoteTo(doubles, term(d, at)));
    odd = hn::Add(odd, hn::PromoteTo(doubles, term(d, at + kLanes)));
  }
  double rest = 0;
  for (; at < count; ++at) rest += static_cast<double>(hn::GetLane(term(one, at)));
  return hn::GetLane(hn::SumOfLanes(doubles, hn::Add(even, odd))) + rest;
}

double exponentials_of_row(std::span<const float> x, float largest) {
  return sum_of_terms(x.size(), [=](auto d, std::size_t at) HWY_ATTR {
    return exponential(d, hn::Sub(hn::LoadU(d, x.data() + at), hn::Set(d, largest)));
  });
}

double weighted_differences_of_rows(std::span<const float> w, std::span<const float> a,
                                    std::span<const float> b) {
  return sum_of_terms(w.size(), [=](auto d, std::size_t at) HWY_ATTR {
    const auto difference = hn::Sub(hn::LoadU(d, a.data() + at), hn::LoadU(d, b.data() + at));
    return hn::Mul(hn::LoadU(d, w.data() + at), difference);
  });
}

/// Loads floats from `at` on as float64 and subtracts `shift`.
template <class D>
HWY_INLINE hn::Vec<D> shifted(D d, const float* at, double shift) {
  const hn::Rebind<float, D> floats;
  return hn::Sub(hn::PromoteTo(d, hn::LoadU(floats, at)), hn::Set(d, shift));
}

ExponentialSums float64_exponentials_of_row(std::span<const float> x, double shift) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  auto sum = hn::Zero(d), weighted = sum;
  std::size_t at = 0;
  for (; at + kLanes <= x.size(); at += kLanes) {
    const auto below = shifted(d, x.data() + at, shift), weight = hn::Exp(d, below);
    sum = hn::Add(sum, weight);
    weighted = hn::MulAdd(weight, below, weighted);
  }
  ExponentialSums out{.sum = hn::GetLane(hn::SumOfLanes(d, sum)),
                      .weighted = hn::GetLane(hn::SumOfLanes(d, weighted))};
  for (; at < x.size(); ++at) {
    const auto below = shifted(one, x.data() + at, shift), weight = hn::Exp(one, below);
    out.sum += hn::GetLane(weight);
    out.weighted += hn::GetLane(hn::Mul(weight, below));
  }
  return out;
}

double float64_divergence_of_rows(std::span<const float> a, double log_a, std::span<const float> b,
                                  double log_b) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  const auto term = [&](auto tag, std::size_t at) HWY_ATTR {
    const auto of_a = shifted(tag, a.data() + at, log_a);
    return hn::Mul(hn::Exp(tag, of_a), hn::Sub(of_a, shifted(tag, b.data() + at, log_b)));
  };
  auto sum = hn::Zero(d);
  std::size_t at = 0;
  for (; at + kLanes <= a.size(); at += kLanes) sum = hn::Add(sum, term(d, at));
  double rest = 0;
  for (; at < a.size(); ++at) rest += hn::GetLane(term(one, at));
  return hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(largest_of_row);
HWY_EXPORT(exponentials_of_row);
HWY_EXPORT(weighted_differences_of_rows);
HWY_EXPORT(float64_exponentials_of_row);
HWY_EXPORT(float64_divergence_of_rows);

float largest_element(Kernels kernels, std::span<const float> x) {
  return ATTNSCOPE_KERNEL(kernels, largest_of_row)(x);
}

double sum_of_exponentials(Kernels kernels, std::span<const float> x, float largest) {
  return ATTNSCOPE_KERNEL(kernels, exponentials_of_row)(x, largest);
}

double sum_of_weighted_differences(Kernels kernels, std::span<const float> w,
                                   std::span<const float> a, std::span<const float> b) {
  return ATTNSCOPE_KERNEL(kernels, weighted_differences_of_rows)(w, a, b);
}

ExponentialSums float64_exponentials(Kernels kernels, std::span<const float> x, double shift) {
  return ATTNSCOPE_KERNEL(kernels, float64_exponentials_of_row)(x, shift);
}

double float64_divergence(Kernels kernels, std::span<const float> a, double log_a,
                          std::span<const float> b, double log_b) {
  return ATTNSCOPE_KERNEL(kernels, float64_divergence_of_rows)(a, log_a, b, log_b);
}

}  // namespace attnscope::kernels
#endif
