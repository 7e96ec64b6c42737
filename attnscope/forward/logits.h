// Logits of many rows, a block at a time: a vocabulary times a text is too large to hold.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Logits of rows of run()'s result. Throws Error(numerical) where one is not finite, and as
/// ForwardPass::logits().
Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute);

/// The same in the first rows of `room`, which grows where it is too small: fresh memory for each
/// block would cost a tenth of its product. `capped`: as logits_into().
MatrixView<const float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                                      Matrix<float>& room, const Compute& compute,
                                      bool capped = true);

/// How many rows of logits are held at once: of at most 64 MB, and one at least.
std::int64_t rows_of_logits(const ForwardPass& pass);

/// Calls use() with the finite_logits() of every row in turn, in blocks of
/// rows_of_logits(); `first`: the row of `states` that a block begins with.
void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute, bool capped = true);

// What logits say of tokens: probabilities, and the tokens that have most of it.

struct TokenScore {
  std::int64_t token = 0;
  double logit = 0;
  double probability = 0;  // softmax over all logits, in float64
};

/// The logarithm of the sum of exponentials, in float64. At least one logit, all finite.
double log_sum_exp(std::span<const float> logits, const Compute& compute);

/// −log of the probability of a token, one for each row of logits, nats. A token's id is less than
/// a row's length.
std::vector<double> token_losses(MatrixView<const float> logits,
                                 std::span<const std::int64_t> tokens, const Compute& compute);

/// What the softmax over all logits says as a whole, in float64.
struct TokenOdds {
  double log_sum = 0;            // log_sum_exp()
  double entropy = 0;            // nats
  std::int64_t most_likely = 0;  // of equal ones the one with the smaller id
};
TokenOdds token_odds(std::span<const float> logits, const Compute& compute);

/// KL(p ‖ q) = Σ p log(p / q) of two softmaxes over the same tokens, nats, in float64; the logs of
/// their sums are log_sum_exp().
double divergence(std::span<const float> p, double log_sum_p, std::span<const float> q,
                  double log_sum_q, const Compute& compute);

/// 1 and how many logits are greater than that token's.
std::int64_t rank_of(std::int64_t token, std::span<const float> logits);

/// The `count` largest logits, or all where there are fewer; the largest first, of equal ones the
/// one with the smaller id. All finite.
std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count,
                                   const Compute& compute);

}  // namespace attnscope
