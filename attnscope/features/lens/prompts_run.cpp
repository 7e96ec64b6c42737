// `lens --prompts`: from which layer on a model prefers the correct answer.
#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/certainty.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/lens/item_edits.h"
#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/features/lens/opened_lens.h"
#include "attnscope/features/lens/run.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

/// Approximate number of rows of texts that run together.
constexpr std::int64_t kLensRows = 512;

/// Differences for all texts, in batches.
LensDifferences differences_of(const ForwardPass& pass, const std::vector<TokenIds>& texts,
                               const AnsweredPrompts& prompts, const LensChoice& choice,
                               std::span<BatchWatcher* const> watchers, const Compute& compute) {
  ItemEdits edits(pass, watchers, compute);
  LensDifferences out;
  for (std::size_t first = 0; first < texts.size();) {
    std::size_t end = first;
    std::int64_t rows = 0;
    while (end < texts.size() && (end == first || rows + std::ssize(texts[end]) <= kLensRows)) {
      rows += std::ssize(texts[end++]);
    }
    const auto part = [&](const auto& all) { return std::span(all).subspan(first, end - first); };
    LensDifferences found =
        read_lens_differences(pass, part(texts), part(prompts.right), part(prompts.wrong), choice,
                              compute, edits.maker());
    out.states = std::move(found.states);
    out.differences.resize(out.states.size());
    for (std::size_t state = 0; state < out.states.size(); ++state) {
      std::vector<double>& all = out.differences[state];
      all.insert(all.end(), found.differences[state].begin(), found.differences[state].end());
    }
    first = end;
  }
  return out;
}

/// Of one state.
struct StateCertainty {
  std::optional<BootstrapInterval> difference;  // mean clean logit difference
  Certainty share;
};

struct FoundDifferences {
  LensDifferences clean, corrupted;
  std::vector<StateCertainty> certainties = {};  // per state

  /// Differences of all prompts; empty without corrupted prompts.
  std::vector<double> corrupted_at(std::size_t state) const {
    return corrupted.differences.empty() ? std::vector<double>() : corrupted.differences[state];
  }

  Preference preference(std::size_t state) const {
    return preference_of(clean.differences[state], corrupted_at(state));
  }

  /// Preference at the final state, which is the model's own prediction.
  Preference preference() const { return preference(clean.states.size() - 1); }

  void add_certainties(const std::vector<std::int64_t>& groups) {
    const Preference whole = preference();
    const std::vector<double> wholes = whole.whole() > 0 ? whole.wholes : std::vector<double>();
    for (std::size_t state = 0; state < clean.states.size(); ++state) {
      certainties.push_back({.difference = interval_of_mean(clean.differences[state], groups),
                             .share = certainty_of(preference(state).wholes, wholes, groups)});
    }
  }
};

void add_difference_rows(const std::string& model, const FoundDifferences& found,
                         const std::vector<std::int64_t>& groups, RowSink& sink) {
  const Preference whole = found.preference();
  TestedRows rows(model, whole.wholes.size(), groups, {tested_share()}, sink);
  for (std::size_t state = 0; state < found.clean.states.size(); ++state) {
    const std::vector<double>& clean = found.clean.differences[state];
    RunningMean right;
    for (const double difference : clean) right.add(difference > 0 ? 1.0 : 0.0);
    const Preference here = found.preference(state);
    const MeanWithError share = share_of(clean, found.corrupted_at(state), whole);
    Record row = {{"model", model},
                  {"layer", found.clean.states[state].layer},
                  {"state", std::string(state_name(found.clean.states[state]))},
                  {"logit_difference", here.clean},
                  {"logit_difference_error", mean_over_prompts(clean).standard_error},
                  {"corrupted_logit_difference", here.corrupted},
                  {"share", share.mean},
                  {"share_error", share.standard_error},
                  {"preference_accuracy", right.result().mean},
                  {"prompts", std::ssize(clean)}};
    add_interval(row, "logit_difference", found.certainties[state].difference);
    rows.add(std::move(row), {found.certainties[state].share});
  }
  rows.finish();
}

}  // namespace

void run_lens_prompts(std::span<const Model> models, const LensPromptsRequest& request,
                      const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<FoundDifferences> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const AnsweredPrompts& prompts = request.prompts.of_models[index];
    check_answers(ready.pass(index), prompts);
    note_long_prompts(ready.pass(index), prompts, sink);
    const TextRows tokens = prompt_rows(prompts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(tokens.all),
         .memory_bytes = run_bytes(models[index].spec(), 1, std::max(kLensRows, tokens.longest)),
         .run = [&, index](const Compute& compute) {
           const ForwardPass& pass = ready.pass(index);
           const OpenedLens opened(request.states, models[index]);
           found[index].clean = differences_of(pass, prompts.clean, prompts, opened.choice(),
                                               context.watchers, compute);
           found[index].corrupted = differences_of(pass, prompts.corrupted, prompts,
                                                   opened.choice(), context.watchers, compute);
           found[index].add_certainties(request.prompts.groups);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = request.prompts.parameters};
  add_states(head.parameters, request.states);
  add_edits_hash(head.parameters, context, models);
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    note_preference(models[index].name(), found[index].preference(), sink);
    add_difference_rows(models[index].name(), found[index], request.prompts.groups, sink);
  }
  sink.end();
}

}  // namespace attnscope
