#include "attnscope/interventions/changed_logits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/numerics/inference/softmax.h"

namespace attnscope {
namespace {

std::span<const float> row_of(MatrixView<const float> matrix, std::size_t row) {
  return {&matrix(static_cast<std::int64_t>(row), 0), static_cast<std::size_t>(matrix.cols)};
}

/// Whether the first of the largest stands elsewhere.
bool is_first_elsewhere(float largest, std::span<const float> row, std::int64_t place) {
  if (row[static_cast<std::size_t>(place)] != largest) return true;
  bool earlier = false;  // of equal ones; no early exit, so that it vectorises
  for (const float value : row.first(static_cast<std::size_t>(place))) earlier |= value == largest;
  return earlier;
}

}  // namespace

CleanLogits clean_logits(Matrix<float> logits, const Compute& compute) {
  CleanLogits out{.logits = std::move(logits), .probabilities = {}, .odds = {}};
  const auto places = static_cast<std::size_t>(out.logits.rows());
  out.probabilities = Matrix<float>(out.logits.rows(), out.logits.cols());
  out.odds.resize(places);
  run_parts(compute, places, [&](std::size_t place) {
    const std::span<const float> logits_of_place = row_of(std::as_const(out.logits).view(), place);
    TokenOdds odds = token_odds(logits_of_place, compute);
    odds.log_sum = softmax_sum(logits_of_place, compute).log_sum;  // as of changed ones
    float* to = &out.probabilities(static_cast<std::int64_t>(place), 0);
    for (const float logit : logits_of_place) {
      *to++ = static_cast<float>(std::exp(static_cast<double>(logit) - odds.log_sum));
    }
    out.odds[place] = odds;
  });
  return out;
}

std::vector<ChangedPlace> compare_logits(const CleanLogits& clean, MatrixView<const float> changed,
                                         const Compute& compute) {
  std::vector<ChangedPlace> out(clean.odds.size());
  run_parts(compute, out.size(), [&](std::size_t place) {
    const std::span<const float> q = row_of(changed, place), p = row_of(clean.logits.view(), place);
    const std::span<const float> weights = row_of(clean.probabilities.view(), place);
    ChangedPlace& found = out[place];
    const SoftmaxSum of_q = softmax_sum(q, compute);
    found.log_sum = of_q.log_sum;
    found.changed = is_first_elsewhere(of_q.largest, q, clean.odds[place].likeliest);
    // Σ p (log p − log q), whose logs lack the sums of both softmaxes at first.
    const double sum = weighted_difference(weights, p, q, compute);
    found.kl = std::max(0.0, sum - clean.odds[place].log_sum + found.log_sum);
  });
  return out;
}

double loss_of(MatrixView<const float> logits, std::size_t place, double log_sum,
               std::int64_t token) {
  return log_sum - static_cast<double>(logits(static_cast<std::int64_t>(place), token));
}

}  // namespace attnscope
