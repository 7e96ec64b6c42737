// Measures of a model's answer to prompts, for patching.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/interventions/answer_logits.h"

namespace attnscope {

enum class PromptMetric {
  logit_difference,  // logit(correct) − logit(incorrect), after the prompt
  probability,       // of the correct answer, after the prompt
  kl,                // KL(clean ‖ run) in nats, mean over the scored rows
  loss,              // of the clean text and its correct answer, nats, mean over the scored rows
};

/// What is measured on prompts.
struct PromptMeasure {
  PromptMetric metric = PromptMetric::logit_difference;
  /// Per prompt, the rows whose predictions are scored, ascending. The last row of a prompt
  /// predicts the answer.
  std::vector<Positions> rows;
};

/// The measure on some consecutive prompts.
class PromptScores {
 public:
  /// `first`, `count`: the prompts. All must outlive this object.
  PromptScores(const ForwardPass& pass, const AnsweredPrompts& prompts,
               const PromptMeasure& measure, std::size_t first, std::size_t count,
               const Compute& compute)
      : pass_(pass),
        prompts_(prompts),
        measure_(measure),
        first_(first),
        count_(count),
        compute_(compute) {}

  /// One value per scored row of a prompt.
  using RowValues = std::vector<double>;

  /// Keeps the logits of the clean run, which `kl` compares with. `states`: the last states of all
  /// prompts, one row per token.
  void set_clean(MatrixView<const float> states);

  /// Returns the values of unmodified or modified runs of all prompts.
  std::vector<RowValues> of_all(MatrixView<const float> states) const;

  /// A run of one of the prompts, counted from the first. Its states start at this row of the
  /// prompt, and at row `at` of the states of several runs.
  struct Run {
    std::size_t prompt = 0;
    std::int64_t first_row = 0, at = 0;
  };
  /// Returns the mean value of each run. Rows before a run's first row have the values of `base`.
  std::vector<double> of_runs(const std::vector<Run>& runs, MatrixView<const float> states,
                              const std::vector<RowValues>& base) const;

  const Positions& rows(std::size_t prompt) const { return measure_.rows[first_ + prompt]; }

 private:
  double value(std::size_t prompt, std::size_t index, MatrixView<const float> logits) const;

  const ForwardPass& pass_;
  const AnsweredPrompts& prompts_;
  const PromptMeasure& measure_;
  std::size_t first_, count_;
  const Compute& compute_;
  std::vector<Matrix<float>> clean_;  // per prompt: (scored rows, V)
};

double mean_of(const PromptScores::RowValues& values);

}  // namespace attnscope
