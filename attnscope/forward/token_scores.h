// What logits say of tokens: probabilities, and the tokens that have most of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

struct TokenScore {
  std::int64_t token = 0;
  double logit = 0;
  double probability = 0;  // softmax over all logits, in float64
};

/// The logarithm of the sum of exponentials, in float64. At least one logit, all finite.
double log_sum_exp(std::span<const float> logits);

/// What the softmax over all logits says as a whole, in float64.
struct TokenOdds {
  double log_sum = 0;          // log_sum_exp()
  double entropy = 0;          // nats
  std::int64_t likeliest = 0;  // of equal ones the one with the smaller id
};
TokenOdds token_odds(std::span<const float> logits);

/// KL(p ‖ q) = Σ p log(p / q) of two softmaxes over the same tokens, nats.
double divergence(std::span<const float> p, const TokenOdds& of_p, std::span<const float> q,
                  const TokenOdds& of_q);

/// 1 and how many logits are greater than that token's.
std::int64_t rank_of(std::int64_t token, std::span<const float> logits);

/// The `count` largest logits, or all where there are fewer; the largest first, of equal ones the
/// one with the smaller id. All finite.
std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count);

}  // namespace attnscope
