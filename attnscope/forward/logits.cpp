#include "attnscope/forward/logits.h"

#include <algorithm>
#include <cmath>

#include "attnscope/core/error.h"

namespace attnscope {

Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute) {
  Matrix<float> logits = pass.logits(states, compute);
  const bool finite = std::all_of(logits.data(), logits.data() + logits.rows() * logits.cols(),
                                  [](float logit) { return std::isfinite(logit); });
  if (finite) return logits;
  throw Error(ErrorKind::numerical, {.file = pass.model().checkpoint().main_file().string(),
                                     .problem = "the output head gives NaN or infinity"});
}

void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute) {
  constexpr std::int64_t kMostLogits = 16 << 20;
  const std::int64_t each =
      std::max<std::int64_t>(1, kMostLogits / std::max<std::int64_t>(1, pass.logits_width()));
  for (std::int64_t row = 0; row < states.rows; row += each) {
    const std::int64_t count = std::min(each, states.rows - row);
    use(row, finite_logits(pass, states.row_block(row, count), compute).view());
  }
}

}  // namespace attnscope
