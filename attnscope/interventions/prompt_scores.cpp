#include "attnscope/interventions/prompt_scores.h"

#include <cmath>
#include <numeric>

#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

std::span<const float> row_of(MatrixView<const float> logits) {
  return {logits.data, static_cast<std::size_t>(logits.cols)};
}

}  // namespace

double mean_of(const PromptScores::RowValues& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void PromptScores::set_clean(MatrixView<const float> states) {
  if (measure_.metric != PromptMetric::kl) return;
  clean_.clear();
  std::int64_t first = 0;
  for (std::size_t prompt = 0; prompt < count_; ++prompt) {
    const std::int64_t tokens = std::ssize(prompts_.clean[first_ + prompt]);
    const Matrix<float> scored = picked_rows(states.row_block(first, tokens), rows(prompt));
    clean_.push_back(finite_logits(pass_, scored.view(), compute_));
    first += tokens;
  }
}

/// The value of one scored row. `logits`: (1, V).
double PromptScores::value(std::size_t prompt, std::size_t index,
                           MatrixView<const float> logits) const {
  const TokenIds& text = prompts_.clean[first_ + prompt];
  const std::int64_t right = prompts_.right[first_ + prompt];
  const std::span<const float> found = row_of(logits);
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const auto logit = [&](std::int64_t token) {
    return static_cast<double>(found[static_cast<std::size_t>(token)]);
  };
  switch (measure_.metric) {
    case PromptMetric::logit_difference:
      return logit(right) - logit(prompts_.wrong[first_ + prompt]);
    case PromptMetric::probability: return std::exp(logit(right) - log_sum_exp(found, alone));
    case PromptMetric::kl: {
      const std::span<const float> clean =
          row_of(clean_[prompt].view().row_block(static_cast<std::int64_t>(index), 1));
      return divergence(clean, log_sum_exp(clean, alone), found, log_sum_exp(found, alone), alone);
    }
    default: break;
  }
  const auto next = static_cast<std::size_t>(rows(prompt)[index] + 1);
  return log_sum_exp(found, alone) - logit(next < text.size() ? text[next] : right);
}

std::vector<PromptScores::RowValues> PromptScores::of_all(MatrixView<const float> states) const {
  std::vector<RowValues> out;
  std::int64_t first = 0;
  for (std::size_t prompt = 0; prompt < count_; ++prompt) {
    const std::int64_t tokens = std::ssize(prompts_.clean[first_ + prompt]);
    const Matrix<float> scored = picked_rows(states.row_block(first, tokens), rows(prompt));
    const Matrix<float> logits = finite_logits(pass_, scored.view(), compute_);
    RowValues& values = out.emplace_back();
    for (std::size_t index = 0; index < rows(prompt).size(); ++index) {
      values.push_back(
          value(prompt, index, logits.view().row_block(static_cast<std::int64_t>(index), 1)));
    }
    first += tokens;
  }
  return out;
}

std::vector<double> PromptScores::of_runs(const std::vector<Run>& runs,
                                          MatrixView<const float> states,
                                          const std::vector<RowValues>& base) const {
  struct Scored {
    std::size_t run, index;
  };
  std::vector<Scored> scored;
  std::vector<std::int64_t> picked;
  std::vector<RowValues> values;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    values.push_back(base[runs[run].prompt]);
    const Positions& rows = this->rows(runs[run].prompt);
    for (std::size_t index = 0; index < rows.size(); ++index) {
      if (rows[index] < runs[run].first_row) continue;
      scored.push_back({run, index});
      picked.push_back(runs[run].at + rows[index] - runs[run].first_row);
    }
  }
  for_logits(
      pass_, picked_rows(states, picked).view(),
      [&](std::int64_t first, MatrixView<const float> logits) {
        run_parts(compute_, static_cast<std::size_t>(logits.rows), [&](std::size_t row) {
          const Scored& at = scored[static_cast<std::size_t>(first) + row];
          values[at.run][at.index] = value(runs[at.run].prompt, at.index,
                                           logits.row_block(static_cast<std::int64_t>(row), 1));
        });
      },
      compute_);
  std::vector<double> out;
  for (const RowValues& own : values) out.push_back(mean_of(own));
  return out;
}

}  // namespace attnscope
