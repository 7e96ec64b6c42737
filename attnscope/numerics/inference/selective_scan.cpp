#include "attnscope/numerics/inference/selective_scan.h"

#include <cmath>
#include <cstddef>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {
namespace {

/// Fallback for CPUs without kernels.
void scan_plainly(const ScanTokens& tokens, MatrixView<const float> rates, MatrixView<float> state,
                  MatrixView<float> out) {
  for (std::int64_t token = 0; token < out.rows; ++token) {
    for (std::int64_t channel = 0; channel < out.cols; ++channel) {
      const float step = tokens.steps(token, channel);
      const float value = step * tokens.values(token, channel);
      float sum = 0;
      for (std::int64_t k = 0; k < state.rows; ++k) {
        float& own = state(k, channel);
        own = std::exp(step * rates(k, channel)) * own + value * tokens.inputs(token, k);
        sum += own * tokens.outputs(token, k);
      }
      out(token, channel) = sum;
    }
  }
}

}  // namespace

void selective_scan(const ScanTokens& tokens, MatrixView<const float> rates,
                    MatrixView<float> state, MatrixView<float> out, const Compute& compute) {
  compute.check_stop();
  if (!compute.kernels.available()) return scan_plainly(tokens, rates, state, out);
  AlignedBuffer<float> memory;
  const auto count = static_cast<std::size_t>(2 * (state.rows + 1) * kernels::kScanChannels);
  kernels::apply_selective_scan(compute.kernels, {.values = tokens.values,
                                                  .steps = tokens.steps,
                                                  .inputs = tokens.inputs,
                                                  .outputs = tokens.outputs,
                                                  .rates = rates,
                                                  .state = state,
                                                  .out = out,
                                                  .scratch = memory.reserve(count)});
}

}  // namespace attnscope
