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

/// The `count` largest logits, or all where there are fewer; the largest first, of equal ones the
/// one with the smaller id. All finite.
std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count);

}  // namespace attnscope
