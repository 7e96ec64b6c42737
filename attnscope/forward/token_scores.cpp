#include "attnscope/forward/token_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnscope {

double log_sum_exp(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

TokenOdds token_odds(std::span<const float> logits) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  const auto most = static_cast<double>(*largest);
  double sum = 0, weighted = 0;
  for (const float logit : logits) {
    const double below = static_cast<double>(logit) - most, weight = std::exp(below);
    sum += weight;
    weighted += weight * below;
  }
  const double log_sum = std::log(sum);
  return {.log_sum = most + log_sum,
          .entropy = log_sum - weighted / sum,
          .likeliest = largest - logits.begin()};
}

double divergence(std::span<const float> p, const TokenOdds& of_p, std::span<const float> q,
                  const TokenOdds& of_q) {
  double sum = 0;
  for (std::size_t token = 0; token < p.size(); ++token) {
    const double log_p = static_cast<double>(p[token]) - of_p.log_sum;
    sum += std::exp(log_p) * (log_p - (static_cast<double>(q[token]) - of_q.log_sum));
  }
  return std::max(sum, 0.0);
}

std::int64_t rank_of(std::int64_t token, std::span<const float> logits) {
  const float own = logits[static_cast<std::size_t>(token)];
  return 1 + std::count_if(logits.begin(), logits.end(), [&](float logit) { return logit > own; });
}

std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = std::min<std::int64_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  const double total = log_sum_exp(logits);
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
