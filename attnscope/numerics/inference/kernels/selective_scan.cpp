// The recurrence of Mamba, for one vector of channels at a time.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/selective_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/exponential-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Processes `count` channels from `first` on, at most one vector. Scratch lanes beyond them are
/// zero and stay zero.
template <class D>
void scan_vector(D d, const SelectiveScan& scan, std::int64_t first, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t depth = scan.state.rows;
  float* HWY_RESTRICT state = scan.scratch;
  float* HWY_RESTRICT rates = state + depth * lanes;
  float* HWY_RESTRICT line = rates + depth * lanes;
  std::fill_n(state, (2 * depth + 2) * lanes, 0.0F);
  for (std::int64_t k = 0; k < depth; ++k) {
    std::copy_n(&scan.state(k, first), count, state + k * lanes);
    std::copy_n(&scan.rates(k, first), count, rates + k * lanes);
  }
  for (std::int64_t token = 0; token < scan.out.rows; ++token) {
    std::copy_n(&scan.steps(token, first), count, line);
    std::copy_n(&scan.values(token, first), count, line + lanes);
    const auto step = hn::Load(d, line);
    const auto value = hn::Mul(step, hn::Load(d, line + lanes));
    const float* HWY_RESTRICT input = &scan.inputs(token, 0);
    const float* HWY_RESTRICT output = &scan.outputs(token, 0);
    auto sum = hn::Zero(d);
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto decay = exponential(d, hn::Mul(step, hn::Load(d, rates + k * lanes)));
      const auto next =
          hn::MulAdd(decay, hn::Load(d, state + k * lanes), hn::Mul(value, hn::Set(d, input[k])));
      hn::Store(next, d, state + k * lanes);
      sum = hn::MulAdd(next, hn::Set(d, output[k]), sum);
    }
    hn::Store(sum, d, line);
    std::copy_n(line, count, &scan.out(token, first));
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    std::copy_n(state + k * lanes, count, &scan.state(k, first));
  }
}

void scan_all(const SelectiveScan& scan) {
  const hn::CappedTag<float, kScanChannels> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t first = 0; first < scan.out.cols; first += lanes) {
    scan_vector(d, scan, first, std::min(lanes, scan.out.cols - first));
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(scan_all);

void apply_selective_scan(Kernels kernels, const SelectiveScan& scan) {
  ATTNSCOPE_KERNEL(kernels, scan_all)(scan);
}

}  // namespace attnscope::kernels
#endif
