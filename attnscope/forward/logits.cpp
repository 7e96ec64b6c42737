#include "attnscope/forward/logits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/softmax.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

void add_bias(std::span<const float> bias, MatrixView<float> out) {
  if (bias.empty()) return;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      out(row, col) += bias[static_cast<std::size_t>(col)];
    }
  }
}

}  // namespace

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
  const LayersElsewhere* elsewhere = layers_elsewhere(model_);
  if (elsewhere != nullptr && elsewhere->multiply_by_vocabulary(model_, states, out)) {
    add_bias(head.vocabulary->bias, out);
  } else {
    apply(*head.vocabulary, states, {}, out, compute);
  }
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
                                     .problem = "the LM head outputs NaN or infinity"});
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

double log_sum_exp(std::span<const float> logits, const Compute& compute) {
  const auto largest = static_cast<double>(std::ranges::max(logits));
  return largest + std::log(float64_exponentials(logits, largest, compute).sum);
}

std::vector<double> token_losses(MatrixView<const float> logits,
                                 std::span<const std::int64_t> tokens, const Compute& compute) {
  std::vector<double> out(tokens.size());
  run_parts(compute, out.size(), [&](std::size_t row) {
    const std::span<const float> own(&logits(static_cast<std::int64_t>(row), 0),
                                     static_cast<std::size_t>(logits.cols));
    const float score = own[static_cast<std::size_t>(tokens[row])];
    out[row] = log_sum_exp(own, compute) - static_cast<double>(score);
  });
  return out;
}

TokenOdds token_odds(std::span<const float> logits, const Compute& compute) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  const auto most = static_cast<double>(*largest);
  const ExponentialSums below = float64_exponentials(logits, most, compute);
  const double log_sum = std::log(below.sum);
  return {.log_sum = most + log_sum,
          .entropy = log_sum - below.weighted / below.sum,
          .most_likely = largest - logits.begin()};
}

double divergence(std::span<const float> p, double log_sum_p, std::span<const float> q,
                  double log_sum_q, const Compute& compute) {
  return std::max(0.0, float64_divergence(p, log_sum_p, q, log_sum_q, compute));
}

std::int64_t rank_of(std::int64_t token, std::span<const float> logits) {
  const float own = logits[static_cast<std::size_t>(token)];
  return 1 + std::count_if(logits.begin(), logits.end(), [&](float logit) { return logit > own; });
}

std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count,
                                   const Compute& compute) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = std::min<std::int64_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  const double total = log_sum_exp(logits, compute);
  std::vector<TokenScore> out;
  for (std::int64_t rank = 0; rank < kept; ++rank) {
    const std::size_t token = order[static_cast<std::size_t>(rank)];
    const auto logit = static_cast<double>(logits[token]);
    out.push_back({.token = static_cast<std::int64_t>(token),
                   .logit = logit,
                   .probability = std::exp(logit - total)});
  }
  return out;
}

}  // namespace attnscope
