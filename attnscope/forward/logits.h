// Logits of many rows, computed in blocks: the logits of a whole text may not fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Returns the logits of rows of run()'s result. Throws Error(numerical) if one is not finite,
/// otherwise like ForwardPass::logits().
Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute);

/// Writes the logits to the first rows of `room`, which grows if it is too small. Allocating memory
/// for each block would cost a tenth of the time of its product. `capped`: as in logits_into().
MatrixView<const float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                                      Matrix<float>& room, const Compute& compute,
                                      bool capped = true);

/// Returns the number of rows per block of logits: at most 64 MB, at least one row.
std::int64_t rows_of_logits(const ForwardPass& pass);

/// Calls use() with the finite_logits() of all rows, in blocks of rows_of_logits() rows. `first`:
/// the row of `states` at the start of the block.
void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute, bool capped = true);

// Probabilities and most likely tokens from logits.

struct TokenScore {
  std::int64_t token = 0;
  double logit = 0;
  double probability = 0;  // softmax over all logits, in float64
};

/// Returns log Σ exp(logit) in float64. Requires at least one logit, and only finite ones.
double log_sum_exp(std::span<const float> logits, const Compute& compute);

/// Returns the negative log-likelihood of one token per row of logits, nats. Token ids must be less
/// than the row length.
std::vector<double> token_losses(MatrixView<const float> logits,
                                 std::span<const std::int64_t> tokens, const Compute& compute);

/// Summary of the softmax over all logits, in float64.
struct TokenOdds {
  double log_sum = 0;            // log_sum_exp()
  double entropy = 0;            // nats
  std::int64_t most_likely = 0;  // ties: the smaller id
};
TokenOdds token_odds(std::span<const float> logits, const Compute& compute);

/// Returns KL(p ‖ q) = Σ p log(p / q) of two softmaxes over the same tokens, in nats, computed in
/// float64. `log_sum_p` and `log_sum_q` are their log_sum_exp().
double divergence(std::span<const float> p, double log_sum_p, std::span<const float> q,
                  double log_sum_q, const Compute& compute);

/// Returns 1 plus the number of logits greater than the token's logit.
std::int64_t rank_of(std::int64_t token, std::span<const float> logits);

/// Returns the `count` largest logits, or all if there are fewer, in descending order. Ties go to
/// the smaller id. All logits must be finite.
std::vector<TokenScore> top_tokens(std::span<const float> logits, std::int64_t count,
                                   const Compute& compute);

}  // namespace attnscope
