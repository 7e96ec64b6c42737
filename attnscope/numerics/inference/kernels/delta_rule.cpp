// The recurrence of Gated DeltaNet and Mamba-2, for a few columns of the state at a time, in the L1
// cache.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/delta_rule.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Processes `count` columns of the state from `first` on, at most 4 vectors. Scratch columns
/// beyond them are zero and stay zero.
template <class D>
void apply_to_columns(D d, const DeltaRule& rule, std::int64_t first, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t depth = rule.state.rows, width = 4 * lanes;
  float* HWY_RESTRICT state = rule.scratch;
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* from = rule.state.data + k * rule.state.row_stride + first;
    std::copy_n(from, count, state + k * width);
    std::fill_n(state + k * width + count, width - count, 0.0F);
  }
  float* HWY_RESTRICT line = state + depth * width;  // values, then outputs
  std::fill_n(line, width, 0.0F);
  for (std::int64_t token = 0; token < rule.out.rows; ++token) {
    const float* HWY_RESTRICT key = rule.keys.data + token * rule.keys.row_stride;
    const float* HWY_RESTRICT query = rule.queries.data + token * rule.queries.row_stride;
    const float* value = rule.values.data + token * rule.values.row_stride + first;
    float* out = rule.out.data + token * rule.out.row_stride + first;

    auto known0 = hn::Zero(d), known1 = hn::Zero(d), known2 = hn::Zero(d), known3 = hn::Zero(d);
    const float* row = state;
    for (std::int64_t k = 0; rule.corrects && k < depth; ++k, row += width) {
      const auto of_key = hn::Set(d, key[k]);
      known0 = hn::MulAdd(hn::Load(d, row), of_key, known0);
      known1 = hn::MulAdd(hn::Load(d, row + lanes), of_key, known1);
      known2 = hn::MulAdd(hn::Load(d, row + 2 * lanes), of_key, known2);
      known3 = hn::MulAdd(hn::Load(d, row + 3 * lanes), of_key, known3);
    }
    const auto decay = hn::Set(d, rule.decays[token]), step = hn::Set(d, rule.steps[token]);
    std::copy_n(value, count, line);
    const auto change = [&](auto known, std::int64_t vector) {
      const auto wanted = hn::Load(d, line + vector * lanes);
      return hn::Mul(step, hn::NegMulAdd(decay, known, wanted));
    };
    const auto change0 = change(known0, 0), change1 = change(known1, 1);
    const auto change2 = change(known2, 2), change3 = change(known3, 3);

    auto out0 = hn::Zero(d), out1 = hn::Zero(d), out2 = hn::Zero(d), out3 = hn::Zero(d);
    float* HWY_RESTRICT to = state;
    for (std::int64_t k = 0; k < depth; ++k, to += width) {
      const auto of_key = hn::Set(d, key[k]), of_query = hn::Set(d, query[k]);
      const auto next0 = hn::MulAdd(of_key, change0, hn::Mul(decay, hn::Load(d, to)));
      const auto next1 = hn::MulAdd(of_key, change1, hn::Mul(decay, hn::Load(d, to + lanes)));
      const auto next2 = hn::MulAdd(of_key, change2, hn::Mul(decay, hn::Load(d, to + 2 * lanes)));
      const auto next3 = hn::MulAdd(of_key, change3, hn::Mul(decay, hn::Load(d, to + 3 * lanes)));
      hn::Store(next0, d, to);
      hn::Store(next1, d, to + lanes);
      hn::Store(next2, d, to + 2 * lanes);
      hn::Store(next3, d, to + 3 * lanes);
      out0 = hn::MulAdd(next0, of_query, out0);
      out1 = hn::MulAdd(next1, of_query, out1);
      out2 = hn::MulAdd(next2, of_query, out2);
      out3 = hn::MulAdd(next3, of_query, out3);
    }
    hn::Store(out0, d, line);
    hn::Store(out1, d, line + lanes);
    hn::Store(out2, d, line + 2 * lanes);
    hn::Store(out3, d, line + 3 * lanes);
    std::copy_n(line, count, out);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    std::copy_n(state + k * width, count, rule.state.data + k * rule.state.row_stride + first);
  }
}

void apply_to_all(const DeltaRule& rule) {
  const hn::CappedTag<float, kDeltaRuleColumns / 4> d;
  const std::int64_t width = 4 * static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t first = 0; first < rule.state.cols; first += width) {
    apply_to_columns(d, rule, first, std::min(width, rule.state.cols - first));
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(apply_to_all);

void apply_delta_rule(Kernels kernels, const DeltaRule& rule) {
  ATTNSCOPE_KERNEL(kernels, apply_to_all)(rule);
}

}  // namespace attnscope::kernels
#endif
