// Softmax of the scores of a query, and rows of the attention map. Compiled once per instruction
// set.
#if defined(ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_SOFTMAX_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_SOFTMAX_INL_H_
#undef ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_SOFTMAX_INL_H_
#else
#define ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_SOFTMAX_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "attnscope/numerics/inference/kernels/activations-inl.h"
#include "attnscope/numerics/inference/kernels/attention_packing-inl.h"
#include "attnscope/numerics/inference/kernels/exponential-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void cap_scores(float cap, float* scores, std::size_t count) {
  const Floats d;
  const FloatVector limit = hn::Set(d, cap);
  for (std::size_t at = 0; at < count; at += kFloatLanes) {
    hn::Store(hn::Mul(limit, hyperbolic_tangent(d, hn::Div(hn::Load(d, scores + at), limit))), d,
              scores + at);
  }
}

/// Adds bias[0 … count) to scores[0 … count).
HWY_INLINE void add_bias(const float* HWY_RESTRICT bias, float* HWY_RESTRICT scores,
                         std::size_t count) {
  const Floats d;
  std::size_t at = 0;
  for (; at + kFloatLanes <= count; at += kFloatLanes) {
    hn::Store(hn::Add(hn::Load(d, scores + at), hn::LoadU(d, bias + at)), d, scores + at);
  }
  for (; at < count; ++at) scores[at] += bias[at];
}

/// Returns the sum of all lanes in float64.
HWY_INLINE double sum_of_lanes(FloatVector x) {
#if HWY_TARGET == HWY_SCALAR
  return static_cast<double>(hn::GetLane(x));
#else
  const hn::Half<Floats> half;
  const hn::Repartition<double, Floats> doubles;
  const auto low = hn::PromoteTo(doubles, hn::LowerHalf(half, x));
  const auto high = hn::PromoteTo(doubles, hn::UpperHalf(half, x));
  return hn::GetLane(hn::SumOfLanes(doubles, hn::Add(low, high)));
#endif
}

/// Unmasked scores of a query, [first, end), and the registers that contain them, [start, stop).
struct ScoreRow {
  float* scores;
  std::size_t first, end, start, stop;
};

/// Caps the scores, adds the bias, and masks other values in the same registers. Returns the
/// largest score. `bias`: bias of the row's first column, or null.
HWY_INLINE float prepare_scores(const ScoreRow& row, float soft_cap, const float* bias) {
  const Floats d;
  if (soft_cap > 0) cap_scores(soft_cap, row.scores + row.start, row.stop - row.start);
  if (bias != nullptr) add_bias(bias + row.start, row.scores + row.start, row.end - row.start);
  const FloatVector masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto mask_lanes = [&](hn::Mask<Floats> mask, float* at) HWY_ATTR {
    hn::Store(hn::IfThenElse(mask, masked, hn::Load(d, at)), d, at);
  };
  mask_lanes(hn::FirstN(d, row.first - row.start), row.scores + row.start);
  mask_lanes(hn::Not(hn::FirstN(d, kFloatLanes - (row.stop - row.end))),
             row.scores + row.stop - kFloatLanes);
  FloatVector largest = masked;
  for (std::size_t at = row.start; at < row.stop; at += kFloatLanes) {
    largest = hn::Max(largest, hn::Load(d, row.scores + at));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

/// Replaces scores by exp(score − largest), and returns their sum.
HWY_INLINE double exponentiate_scores(const ScoreRow& row, float largest) {
  constexpr std::size_t kAddedInFloat32 = 8 * kFloatLanes;  // longer sums use float64
  const Floats d;
  const FloatVector offset = hn::Set(d, largest);
  double sum = 0;
  for (std::size_t chunk = row.start; chunk < row.stop; chunk += kAddedInFloat32) {
    const std::size_t chunk_end = std::min(chunk + kAddedInFloat32, row.stop);
    FloatVector sums = hn::Zero(d);
    for (std::size_t at = chunk; at < chunk_end; at += kFloatLanes) {
      const FloatVector weight = exponential(d, hn::Sub(hn::Load(d, row.scores + at), offset));
      hn::Store(weight, d, row.scores + at);
      sums = hn::Add(sums, weight);
    }
    sum += sum_of_lanes(sums);
  }
  return sum;
}

HWY_INLINE void scale_row(const ScoreRow& row, float factor) {
  const Floats d;
  for (std::size_t at = row.start; at < row.stop; at += kFloatLanes) {
    hn::Store(hn::Mul(hn::Load(d, row.scores + at), hn::Set(d, factor)), d, row.scores + at);
  }
}

/// Sets columns [first, end) to 0; both are multiples of kFloatLanes.
HWY_INLINE void clear(float* row, std::size_t first, std::size_t end) {
  for (; first < end; first += kFloatLanes) hn::StoreU(hn::Zero(Floats()), Floats(), row + first);
}

/// Writes a row of a map: `weights` at their columns, 0 elsewhere. With kPastCaches, the row must
/// be 64-byte aligned.
template <bool kPastCaches>
HWY_INLINE void write_map_row(const float* weights, const AttentionColumns& columns,
                              std::size_t tokens, float* HWY_RESTRICT map) {
  const Floats d;
  const auto first = static_cast<std::size_t>(columns.first);
  const std::size_t end = first + static_cast<std::size_t>(columns.count);
  const std::size_t whole = tokens / kFloatLanes * kFloatLanes;
  const auto write = [&](FloatVector value, std::size_t at) HWY_ATTR {
    if constexpr (kPastCaches) {
      hn::Stream(value, d, map + at);
    } else {
      hn::StoreU(value, d, map + at);
    }
  };
  std::size_t at = 0;
  for (; at < std::min(first, whole); at += kFloatLanes) write(hn::Zero(d), at);
  for (; at < std::min(end, whole); at += kFloatLanes) {
    write(hn::Load(d, weights + at - first), at);
  }
  for (; at < whole; at += kFloatLanes) write(hn::Zero(d), at);
  for (; at < tokens; ++at) map[at] = at >= first && at < end ? weights[at - first] : 0.0F;
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
