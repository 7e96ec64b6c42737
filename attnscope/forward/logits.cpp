#include "attnscope/forward/logits.h"

#include <algorithm>
#include <cmath>

#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {

Matrix<float> ForwardPass::logits(MatrixView<const float> states, const Compute& compute) const {
  if (!weights_.head) {
    throw Error(ErrorKind::unsupported, {.file = model_.checkpoint().main_file().string(),
                                         .problem = "no logits: " + verbatim(weights_.no_head)});
  }
  const HeadWeights& head = *weights_.head;
  Matrix<float> transformed;
  if (head.dense != nullptr) {
    transformed = Matrix<float>(states.rows, head.dense->weights.outputs());
    apply(*head.dense, states, {.activation = model_.spec().head.activation}, transformed.view(),
          compute);
    states = transformed.view();
  }
  if (head.norm) {
    if (head.dense == nullptr) transformed = Matrix<float>(states.rows, states.cols);
    apply_norm(*head.norm, states, transformed.view(), compute);
    states = transformed.view();
  }
  Matrix<float> out(states.rows, head.vocabulary->weights.outputs());
  apply(*head.vocabulary, states, {}, out.view(), compute);
  if (model_.spec().head.factor != 1) {
    const auto factor = static_cast<float>(model_.spec().head.factor);
    for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) out.data()[at] *= factor;
  }
  if (const auto cap = model_.spec().head.soft_cap) {
    soft_cap(static_cast<float>(*cap), out.view(), compute);
  }
  return out;
}

Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute) {
  Matrix<float> logits = pass.logits(states, compute);
  const bool finite = std::all_of(logits.data(), logits.data() + logits.rows() * logits.cols(),
                                  [](float logit) { return std::isfinite(logit); });
  if (finite) return logits;
  throw Error(ErrorKind::numerical, {.file = pass.model().checkpoint().main_file().string(),
                                     .problem = "the output head gives NaN or infinity"});
}

std::int64_t rows_of_logits(const ForwardPass& pass) {
  constexpr std::int64_t kMaxLogits = 16 << 20;
  return std::max<std::int64_t>(1, kMaxLogits / std::max<std::int64_t>(1, pass.logits_width()));
}

void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute) {
  const std::int64_t each = rows_of_logits(pass);
  for (std::int64_t row = 0; row < states.rows; row += each) {
    const std::int64_t count = std::min(each, states.rows - row);
    use(row, finite_logits(pass, states.row_block(row, count), compute).view());
  }
}

}  // namespace attnscope
