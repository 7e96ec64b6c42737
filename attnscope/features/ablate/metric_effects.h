// Effects of interventions on a measure of clean and corrupted prompts, and shares of the gap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/ablate/effect_certainty.h"
#include "attnscope/interventions/prompt_scores.h"
#include "attnscope/numerics/statistics/running_mean.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// "logit-difference", "probability", "kl", "loss".
std::vector<std::string> metric_names();
PromptMetric metric_named(const std::string& name);

/// The measure of unmodified runs, per prompt.
struct MetricGap {
  std::vector<double> clean, corrupted;

  /// clean − corrupted per prompt.
  std::vector<double> wholes() const;
  /// Whether the mean gap exceeds two standard errors, so that shares of it are meaningful. With
  /// one prompt: whether it is not 0.
  bool is_clear() const;
};

/// Adds a note if the gap is not clear.
void note_unclear_gap(const std::string& model, const MetricGap& gap, RowSink& sink);

/// Adds the fields of effect_fields() in effect_fields.h. `denoised`, `noised`: the measure of
/// modified runs per prompt; empty: nulls.
void add_effects(Record& row, const MetricGap& gap, const std::vector<double>& denoised,
                 const std::vector<double>& noised);

/// Certainty of these effects. `groups`: see sign_flip_p_value().
EffectCertainties certainties_of(const MetricGap& gap, const std::vector<double>& denoised,
                                 const std::vector<double>& noised,
                                 const std::vector<std::int64_t>& groups);

}  // namespace attnscope
