// Norms of rows in float32, with sums in float64.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/norms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Loads elements as float64.
template <class D>
HWY_INLINE hn::Vec<D> load_as_float64(D d, const float* at) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), at));
}

/// Returns the sum of a row's elements in float64, or the sum computed by `add(tag, x, sum)`.
template <class Add>
HWY_INLINE double sum_of_row(const float* row, std::size_t count, const Add& add) {
  constexpr std::size_t kSums = 8;  // hides the latency of additions
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  hn::Vec<decltype(d)> sums[kSums];
#pragma GCC unroll 8
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t at = 0;
  for (; at + kSums * kLanes <= count; at += kSums * kLanes) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kSums; ++part) {
      sums[part] = add(d, load_as_float64(d, row + at + part * kLanes), sums[part]);
    }
  }
  for (; at + kLanes <= count; at += kLanes) {
    sums[0] = add(d, load_as_float64(d, row + at), sums[0]);
  }
  auto rest = hn::Zero(one);
  for (; at < count; ++at) rest = add(one, load_as_float64(one, row + at), rest);
#pragma GCC unroll 8
  for (std::size_t part = 1; part < kSums; ++part) sums[0] = hn::Add(sums[0], sums[part]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0])) + hn::GetLane(rest);
}

/// Calls visit(tag, at) for a row's registers, then for each remaining element.
template <class Visit>
HWY_INLINE void for_registers(std::size_t count, const Visit& visit) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) visit(d, at);
  for (; at < count; ++at) visit(one, at);
}

void layer_norm_of_rows(MatrixView<const float> x, const float* gain, const float* bias,
                        double epsilon, MatrixView<float> out) {
  const auto count = static_cast<std::size_t>(x.cols);
  const auto n = static_cast<double>(count);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* from = x.data + row * x.row_stride;
    float* to = out.data + row * out.row_stride;
    const double mean =
        sum_of_row(from, count,
                   [](auto, auto value, auto sum) HWY_ATTR { return hn::Add(sum, value); }) /
        n;
    const double squares = sum_of_row(from, count, [mean](auto d, auto value, auto sum) HWY_ATTR {
      const auto centered = hn::Sub(value, hn::Set(d, mean));
      return hn::MulAdd(centered, centered, sum);
    });
    const auto factor = static_cast<float>(1 / std::sqrt(squares / n + epsilon));
    // Splits the mean into two float32 numbers, because rounding it would shift the whole row.
    const auto high = static_cast<float>(mean);
    const auto low = static_cast<float>(mean - static_cast<double>(high));
    for_registers(count, [=](auto d, std::size_t at) HWY_ATTR {
      auto value = hn::Sub(hn::Sub(hn::LoadU(d, from + at), hn::Set(d, high)), hn::Set(d, low));
      value = hn::Mul(value, hn::Set(d, factor));
      const auto offset = bias ? hn::LoadU(d, bias + at) : hn::Zero(d);
      if (gain)
        value = hn::MulAdd(value, hn::LoadU(d, gain + at), offset);
      else
        value = hn::Add(value, offset);
      hn::StoreU(value, d, to + at);
    });
  }
}

void rms_norm_of_rows(MatrixView<const float> x, const float* gain, float gain_offset,
                      double epsilon, MatrixView<float> out) {
  const auto count = static_cast<std::size_t>(x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* from = x.data + row * x.row_stride;
    float* to = out.data + row * out.row_stride;
    const double squares = sum_of_row(from, count, [](auto, auto value, auto sum) HWY_ATTR {
      return hn::MulAdd(value, value, sum);
    });
    const auto factor =
        static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + epsilon));
    for_registers(count, [=](auto d, std::size_t at) HWY_ATTR {
      auto value = hn::Mul(hn::LoadU(d, from + at), hn::Set(d, factor));
      if (gain) {
        value = hn::Mul(value, hn::Add(hn::LoadU(d, gain + at), hn::Set(d, gain_offset)));
      }
      hn::StoreU(value, d, to + at);
    });
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(layer_norm_of_rows);
HWY_EXPORT(rms_norm_of_rows);

void layer_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain,
                     const float* bias, double epsilon, MatrixView<float> out) {
  ATTNSCOPE_KERNEL(kernels, layer_norm_of_rows)(x, gain, bias, epsilon, out);
}

void rms_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain, float gain_offset,
                   double epsilon, MatrixView<float> out) {
  ATTNSCOPE_KERNEL(kernels, rms_norm_of_rows)(x, gain, gain_offset, epsilon, out);
}

}  // namespace attnscope::kernels
#endif
