// The logit difference of prompts with two answers, and shares of it. Used by `--prompts` of
// `ablate`, `lens` and `predict --attribution`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/interventions/answer_logits.h"
#include "attnscope/numerics/statistics/running_mean.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Positions of a prompt's tokens by their label.
using PromptLabels = std::map<std::string, Positions>;

struct PromptsRequest {
  std::vector<AnsweredPrompts> of_models;
  std::vector<PromptLabels> labels = {};  // per prompt, with the same names; empty: none are given
  Record parameters;                      // report parameters that describe their source
  /// Per prompt the index of its group, from 0; empty: prompts are independent.
  std::vector<std::int64_t> groups = {};
};

/// Returns the rows of the clean and corrupted texts together.
TextRows prompt_rows(const AnsweredPrompts& prompts);

/// Throws the errors of check_predicts_tokens(), and Error(unsupported) for a bidirectional model.
void check_answers(const ForwardPass& pass, const AnsweredPrompts& prompts);

/// Adds a note if a prompt is longer than the model's context: see past_context_note().
void note_long_prompts(const ForwardPass& pass, const AnsweredPrompts& prompts, RowSink& sink);

/// Means over prompts of logit(correct) − logit(incorrect).
struct Preference {
  double clean = 0;
  std::optional<double> corrupted;
  std::vector<double> wholes;  // per prompt: clean − corrupted, or clean without corrupted prompts

  /// The gap between clean and corrupted prompts, or between clean prompts and zero.
  double whole() const { return clean - corrupted.value_or(0); }
};
/// `corrupted`: empty without corrupted prompts.
Preference preference_of(const std::vector<double>& clean, const std::vector<double>& corrupted);

/// Returns a − b per prompt, or a if `b` is empty.
std::vector<double> prompt_differences(std::vector<double> a, const std::vector<double>& b);

MeanWithError mean_over_prompts(const std::vector<double>& values);

/// The mean of a − b over prompts as a share of the gap, with the standard error of a ratio,
/// because the gap varies over the same prompts. Empty without prompts, or if the gap is not
/// positive. `b`: empty to subtract nothing. This is the normalized logit difference of Wang et al.
/// 2022.
MeanWithError share_of(const std::vector<double>& a, const std::vector<double>& b,
                       const Preference& preference);

/// Adds a note if the gap is not positive.
void note_preference(const std::string& model, const Preference& preference, RowSink& sink);

/// Adds "logit_difference", "corrupted_logit_difference" and "prompts".
void add_preference(Record& row, const Preference& preference, std::size_t prompts);

}  // namespace attnscope
