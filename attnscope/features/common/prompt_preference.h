// How much a model prefers one of two answers after prompts, and what share of that is whose doing:
// what `--prompts` asks of `ablate`, `lens` and `predict --attribution`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/interventions/answer_logits.h"
#include "attnscope/numerics/statistics/running_mean.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct PromptsRequest {
  std::vector<AnsweredPrompts> of_models;
  Record parameters;  // what the report says of where they come from
};

/// Of all prompts, and of the longest.
struct PromptTokens {
  std::int64_t all = 0, longest = 0;
};
PromptTokens prompt_tokens(const AnsweredPrompts& prompts);

/// Throws as check_predicts_tokens(), and Error(unsupported) for a model that sees texts both ways.
void check_answers(const ForwardPass& pass, const AnsweredPrompts& prompts);

/// Adds a note if a prompt is longer than the model's context: see past_context_note().
void note_long_prompts(const ForwardPass& pass, const AnsweredPrompts& prompts, RowSink& sink);

/// Means over prompts of logit(right) − logit(wrong).
struct Preference {
  double clean = 0;
  std::optional<double> corrupted;
  std::vector<double>
      wholes;  // of each prompt, clean − corrupted, or clean where none is corrupted

  /// What there is to restore or destroy: that of clean prompts over that of corrupted ones, or
  /// over none.
  double whole() const { return clean - corrupted.value_or(0); }
};
/// `corrupted`: none where there are no such prompts.
Preference preference_of(const std::vector<double>& clean, const std::vector<double>& corrupted);

MeanWithError mean_over_prompts(const std::vector<double>& values);

/// The mean of a − b over prompts as a share of the whole, with the standard error of a ratio,
/// since the whole varies over the same prompts; none of no prompts, and where the whole is not
/// above 0. `b`: empty where nothing is taken off. Wang et al. 2022's normalised logit difference.
MeanWithError share_of(const std::vector<double>& a, const std::vector<double>& b,
                       const Preference& preference);

/// Says so where there is nothing to share.
void note_preference(const std::string& model, const Preference& preference, RowSink& sink);

/// "logit_difference", "corrupted_logit_difference", "prompts".
void add_preference(Record& row, const Preference& preference, std::size_t prompts);

}  // namespace attnscope
