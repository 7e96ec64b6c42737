#include "attnscope/features/ablate/metric_effects.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "attnscope/base/error.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/numerics/statistics/jackknife.h"

namespace attnscope {
namespace {

// In the order of PromptMetric.
constexpr std::array kMetricNames = {"logit-difference", "probability", "kl", "loss"};

}  // namespace

std::vector<std::string> metric_names() { return {kMetricNames.begin(), kMetricNames.end()}; }

PromptMetric metric_named(const std::string& name) {
  const auto* found = std::find(kMetricNames.begin(), kMetricNames.end(), name);
  if (found == kMetricNames.end()) refuse_field("metric");
  return static_cast<PromptMetric>(found - kMetricNames.begin());
}

std::vector<double> MetricGap::wholes() const { return prompt_differences(clean, corrupted); }

bool MetricGap::is_clear() const {
  const MeanWithError gap = mean_over_prompts(wholes());
  return std::abs(gap.mean.value_or(0)) > 2 * gap.standard_error.value_or(0);
}

void note_unclear_gap(const std::string& model, const MetricGap& gap, RowSink& sink) {
  if (gap.is_clear()) return;
  const MeanWithError whole = mean_over_prompts(gap.wholes());
  sink.add_note(
      verbatim(model) +
      fmt::format(": the clean-corrupted gap of the metric ({:+.3f}{}) is within two "
                  "standard errors of 0, so no shares are reported",
                  whole.mean.value_or(0),
                  whole.standard_error ? fmt::format(" ±{:.3f}", *whole.standard_error) : ""));
}

void add_effects(Record& row, const MetricGap& gap, const std::vector<double>& denoised,
                 const std::vector<double>& noised) {
  const std::vector<double> wholes = gap.wholes();
  const bool clear = gap.is_clear();
  const auto add = [&](const std::string& name, const std::vector<double>& changes) {
    const MeanWithError share =
        changes.empty() || !clear ? MeanWithError() : jackknife_ratio(changes, wholes);
    const MeanWithError change = mean_over_prompts(changes);
    row.add(name + "_effect", share.mean)
        .add(name + "_effect_error", share.standard_error)
        .add(name + "_change", change.mean)
        .add(name + "_change_error", change.standard_error);
  };
  add("denoising", denoised.empty() ? denoised : prompt_differences(denoised, gap.corrupted));
  add("noising", noised.empty() ? noised : prompt_differences(gap.clean, noised));
  row.add("clean_metric", mean_over_prompts(gap.clean).mean)
      .add("corrupted_metric", mean_over_prompts(gap.corrupted).mean)
      .add("prompts", static_cast<std::int64_t>(gap.clean.size()));
}

EffectCertainties certainties_of(const MetricGap& gap, const std::vector<double>& denoised,
                                 const std::vector<double>& noised,
                                 const std::vector<std::int64_t>& groups) {
  const std::vector<double> wholes = gap.is_clear() ? gap.wholes() : std::vector<double>();
  EffectCertainties out;
  if (!denoised.empty()) {
    out.denoising = certainty_of(prompt_differences(denoised, gap.corrupted), wholes, groups);
  }
  if (!noised.empty()) {
    out.noising = certainty_of(prompt_differences(gap.clean, noised), wholes, groups);
  }
  return out;
}

}  // namespace attnscope
