#include "attnscope/forward/token_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/numerics/inference/softmax.h"

namespace attnscope {

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
          .likeliest = largest - logits.begin()};
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
