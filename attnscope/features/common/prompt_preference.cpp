#include "attnscope/features/common/prompt_preference.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

double mean_of_all(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TextRows prompt_rows(const AnsweredPrompts& prompts) {
  const TextRows clean = text_rows(prompts.clean), corrupted = text_rows(prompts.corrupted);
  return {.all = clean.all + corrupted.all, .longest = std::max(clean.longest, corrupted.longest)};
}

void check_answers(const ForwardPass& pass, const AnsweredPrompts& prompts) {
  const Model& model = pass.model();
  check_predicts_tokens(pass, {}, MaskToken(0));
  if (!model.spec().causal) {
    throw Error(
        ErrorKind::unsupported,
        {.parameter = "prompts",
         .problem = verbatim(model.name()) + " is bidirectional and does not predict next tokens"});
  }
  const std::int64_t known = std::min(pass.vocabulary(), pass.logits_width());
  for (const std::vector<TokenIds>* texts : {&prompts.clean, &prompts.corrupted}) {
    for (const TokenIds& ids : *texts) pass.check(ids);
  }
  for (const TokenIds* answers : {&prompts.right, &prompts.wrong}) {
    check_token_ids(*answers, known, model.name());
  }
}

void note_long_prompts(const ForwardPass& pass, const AnsweredPrompts& prompts, RowSink& sink) {
  std::string note = past_context_note(pass, prompt_rows(prompts).longest);
  if (!note.empty()) sink.add_note(std::move(note));
}

Preference preference_of(const std::vector<double>& clean, const std::vector<double>& corrupted) {
  Preference out{
      .clean = mean_of_all(clean), .corrupted = {}, .wholes = prompt_differences(clean, corrupted)};
  if (!corrupted.empty()) out.corrupted = mean_of_all(corrupted);
  return out;
}

std::vector<double> prompt_differences(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t at = 0; at < b.size(); ++at) a[at] -= b[at];
  return a;
}

MeanWithError mean_over_prompts(const std::vector<double>& values) {
  RunningMean mean;
  for (const double value : values) mean.add(value);
  return mean.result();
}

MeanWithError share_of(const std::vector<double>& a, const std::vector<double>& b,
                       const Preference& preference) {
  if (a.empty() || !(preference.whole() > 0)) return {};
  return ratio_of_sums(prompt_differences(a, b), preference.wholes);
}

void note_preference(const std::string& model, const Preference& preference, RowSink& sink) {
  if (preference.whole() > 0) return;
  const std::string than = preference.corrupted ? fmt::format("than on corrupted prompts ({:+.3f})",
                                                              *preference.corrupted)
                                                : "than zero";
  sink.add_note(verbatim(model) +
                fmt::format(": the logit difference on clean prompts ({:+.3f}) is not larger "
                            "{}, so no shares are reported",
                            preference.clean, than));
}

void add_preference(Record& row, const Preference& preference, std::size_t prompts) {
  row.add("logit_difference", preference.clean)
      .add("corrupted_logit_difference", preference.corrupted)
      .add("prompts", static_cast<std::int64_t>(prompts));
}

}  // namespace attnscope
