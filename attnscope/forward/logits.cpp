#include "attnscope/forward/logits.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/sized.h"
#include "attnscope/numerics/all_finite.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {

Matrix<float> ForwardPass::logits(MatrixView<const float> states, const Compute& compute) const {
  Matrix<float> out(states.rows, logits_width());
  logits_into(states, out.view(), compute);
  return out;
}

void ForwardPass::logits_into(MatrixView<const float> states, MatrixView<float> out,
                              const Compute& compute, bool capped) const {
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
  apply(*head.vocabulary, states, {}, out, compute);
  if (model_.spec().head.factor != 1) {
    const auto factor = static_cast<float>(model_.spec().head.factor);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) *= factor;
    }
  }
  const auto cap = model_.spec().head.soft_cap;
  if (cap && capped) {
    soft_cap(static_cast<float>(*cap), out, compute);
  }
}

Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute) {
  Matrix<float> logits;
  finite_logits(pass, states, logits, compute);
  return logits;
}

MatrixView<const float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                                      Matrix<float>& room, const Compute& compute, bool capped) {
  const MatrixView<float> logits = sized_at_least(room, states.rows, pass.logits_width());
  pass.logits_into(states, logits, compute, capped);
  std::vector<std::uint8_t> finite(static_cast<std::size_t>(logits.rows));
  run_parts(compute, finite.size(), [&](std::size_t row) {
    finite[row] =
        all_finite(MatrixView<const float>(logits.row_block(static_cast<std::int64_t>(row), 1)));
  });
  if (std::ranges::all_of(finite, [](std::uint8_t row) { return row != 0; })) return logits;
  throw Error(ErrorKind::numerical, {.file = pass.model().checkpoint().main_file().string(),
                                     .problem = "the output head gives NaN or infinity"});
}

std::int64_t rows_of_logits(const ForwardPass& pass) {
  constexpr std::int64_t kMaxLogits = 16 << 20;
  return std::max<std::int64_t>(1, kMaxLogits / std::max<std::int64_t>(1, pass.logits_width()));
}

void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute, bool capped) {
  const std::int64_t each = rows_of_logits(pass);
  Matrix<float> room;
  for (std::int64_t row = 0; row < states.rows; row += each) {
    const std::int64_t count = std::min(each, states.rows - row);
    use(row, finite_logits(pass, states.row_block(row, count), room, compute, capped));
  }
}

}  // namespace attnscope
