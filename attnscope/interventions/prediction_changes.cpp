#include "attnscope/interventions/prediction_changes.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "attnscope/forward/logits.h"
#include "attnscope/numerics/inference/softmax.h"

namespace attnscope {
namespace {

std::span<const float> row_of(MatrixView<const float> matrix, std::size_t row) {
  return {&matrix(static_cast<std::int64_t>(row), 0), static_cast<std::size_t>(matrix.cols)};
}

/// Returns whether the first maximum of the row is not at `position`.
bool is_first_elsewhere(float largest, std::span<const float> row, std::int64_t position) {
  if (row[static_cast<std::size_t>(position)] != largest) return true;
  bool earlier = false;  // an equal value comes earlier; no early exit, so that it vectorizes
  for (const float value : row.first(static_cast<std::size_t>(position)))
    earlier |= value == largest;
  return earlier;
}

/// Returns the negative log-likelihood of a token, nats.
double loss_of(MatrixView<const float> logits, std::size_t position, double log_sum,
               std::int64_t token) {
  return log_sum - static_cast<double>(logits(static_cast<std::int64_t>(position), token));
}

struct ChangedPosition {
  double log_sum = 0;    // of the changed logits
  double kl = 0;         // KL(clean ‖ changed), nats
  bool changed = false;  // the top-1 token has changed
};

}  // namespace

PredictionChange PredictionChange::zeros(std::size_t sequences) {
  const std::vector<double> none(sequences, 0);
  return {.loss = none, .kl = none, .changed = none};
}

std::vector<ScoredChunk> scored_chunks(const std::vector<TextChunk>& chunks,
                                       const ScoredPositions& texts) {
  std::vector<ScoredChunk> out;
  std::size_t first_place = 0;
  for (const TextChunk& text : chunks) {
    ScoredChunk chunk{.text = text, .first_place = first_place, .rows = {}};
    for (std::size_t at = 0; at < text.texts.size(); ++at) {
      first_place += static_cast<std::size_t>(texts.of_sequence[text.first + at]);
    }
    for (std::size_t place = chunk.first_place; place < first_place; ++place) {
      chunk.rows.push_back(texts.rows[place] - text.first_row);
    }
    if (!chunk.rows.empty()) out.push_back(std::move(chunk));
  }
  return out;
}

CleanPredictions::CleanPredictions(const ForwardPass& pass, const ScoredPositions& texts,
                                   const ScoredChunk& chunk, MatrixView<const float> states,
                                   const Compute& compute)
    : pass_(pass),
      texts_(texts),
      chunk_(chunk),
      compute_(compute),
      logits_(finite_logits(pass, picked_rows(states, chunk.rows).view(), compute)),
      probabilities_(logits_.rows(), logits_.cols()),
      odds_(chunk.rows.size()) {
  run_parts(compute, odds_.size(), [&](std::size_t position) {
    const std::span<const float> logits = row_of(std::as_const(logits_).view(), position);
    TokenOdds odds = token_odds(logits, compute);
    odds.log_sum = softmax_sum(logits, compute).log_sum;  // summed as for changed logits
    float* to = &probabilities_(static_cast<std::int64_t>(position), 0);
    for (const float logit : logits) {
      *to++ = static_cast<float>(std::exp(static_cast<double>(logit) - odds.log_sum));
    }
    odds_[position] = odds;
  });
}

void CleanPredictions::add_loss(std::vector<double>& loss,
                                std::vector<std::int64_t>& predicted) const {
  const auto add = [&](std::size_t position, std::size_t sequence, std::int64_t token) {
    if (token < 0) return;
    ++predicted[sequence];
    loss[sequence] += loss_of(logits_.view(), position, odds_[position].log_sum, token);
  };
  chunk_.for_positions(texts_, add);
}

void CleanPredictions::add_change(MatrixView<const float> states, PredictionChange& change,
                                  Matrix<float>& room) const {
  const MatrixView<const float> logits =
      finite_logits(pass_, picked_rows(states, chunk_.rows).view(), room, compute_);
  std::vector<ChangedPosition> positions(odds_.size());
  run_parts(compute_, positions.size(), [&](std::size_t position) {
    const std::span<const float> q = row_of(logits, position), p = row_of(logits_.view(), position);
    const std::span<const float> weights = row_of(probabilities_.view(), position);
    ChangedPosition& found = positions[position];
    const SoftmaxSum of_q = softmax_sum(q, compute_);
    found.log_sum = of_q.log_sum;
    found.changed = is_first_elsewhere(of_q.largest, q, odds_[position].most_likely);
    // Σ p (log p − log q) with unnormalized logits; the log-sums of both softmaxes are added below.
    const double sum = weighted_difference(weights, p, q, compute_);
    found.kl = std::max(0.0, sum - odds_[position].log_sum + found.log_sum);
  });
  const auto add = [&](std::size_t position, std::size_t sequence, std::int64_t token) {
    const ChangedPosition& found = positions[position];
    change.kl[sequence] += found.kl;
    change.changed[sequence] += found.changed ? 1 : 0;
    if (token >= 0) change.loss[sequence] += loss_of(logits, position, found.log_sum, token);
  };
  chunk_.for_positions(texts_, add);
}

}  // namespace attnscope
