#include "attnscope/features/ablate/head_set_effects.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/ablate/components.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) refuse_field("sets");
  return number;
}

/// "L0H1,L2H3;L0H1". Items may come from another process, so the text is checked.
std::vector<HeadSet> sets_from(const std::string& sets_text, const Model& model) {
  std::vector<HeadSet> sets;
  for (const std::string& text : split(sets_text, ';')) {
    HeadSet& set = sets.emplace_back();
    for (const std::string& head : split(text, ',')) {
      const std::size_t middle = head.find('H');
      if (!head.starts_with('L') || middle == std::string::npos) refuse_field("sets");
      const HeadIndex place{.layer = number_in(std::string_view(head).substr(1, middle - 1)),
                            .head = number_in(std::string_view(head).substr(middle + 1))};
      if (place.layer < 0 || place.head < 0) refuse_field("sets");
      set.push_back(place_in(model, place, "heads"));
    }
  }
  return sets;
}

std::vector<HeadSet> sets_of(const WorkItem& item, const Model& model) {
  return sets_from(expect<std::string>(item.parameters, "sets"), model);
}

std::vector<Outcome> sets_outcomes(const WorkItem& item, const ModelSource& source,
                                   const Compute& compute) {
  const ItemPass ready(source, compute, /*predicts_tokens=*/true);
  const std::vector<HeadSet> sets = sets_of(item, *source.model);
  const HeadSetAblation found = ablate_head_sets(
      *ready, scored_positions(item), sets, stack_of(item, *source.model),
      replacement_named(expect<std::string>(item.parameters, "ablation")), compute);
  std::vector<Outcome> outcomes;
  for (std::size_t at = 0; at < sets.size(); ++at) {
    const PredictionChange& change = found.changes[at];
    outcomes.push_back({.head = {},
                        .fields = {{"heads", heads_text(sets[at])},
                                   {"clean_loss", found.loss},
                                   {"loss", change.loss},
                                   {"kl", change.kl},
                                   {"top_token_changed", change.changed},
                                   {"predicted", found.predicted},
                                   {"positions", found.places}}});
  }
  return outcomes;
}

Cost sets_cost(const WorkItem& item, const ModelSource& source) {
  const std::vector<HeadSet> sets = sets_of(item, *source.model);
  const AblationRows rows = rows_of(*item.batch);
  const Model& model = *source.model;
  Cost cost{.flops = set_ablation_flops(std::ssize(sets), model, first_layer(sets.front()), rows),
            .memory_bytes = ablation_bytes(model, rows)};
  if (expect<std::string>(item.parameters, "ablation") == "resample") {
    std::vector<std::int64_t> layers;
    for (const HeadSet& set : sets) {
      for (const HeadIndex& head : set) layers.push_back(head.layer);
    }
    std::ranges::sort(layers);
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    const std::int64_t each = std::max(rows.texts.all, rows.sources.all) *
                              model.dimensions().heads.total_dim(Role::output);
    cost.memory_bytes += sizeof(float) * static_cast<std::uint64_t>(std::ssize(layers) * each);
  }
  return cost;
}

void add_sets_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  inputs.add("mask", mask_parameter(item))
      .add("sets", expect<std::string>(item.parameters, "sets"));
}

/// Rows with sums per sequence, from which run_ablate_sets() makes those of the report.
RowMaker make_set_sums(RowSink& sink) {
  return {.add = [&sink](const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) {
      Record row = outcome.fields;
      row.add("model", place.model);
      sink.add_row(std::move(row));
    }
  }};
}

}  // namespace

const Analysis& ablate_sets_analysis() {
  static constexpr Analysis analysis = {.name = "ablate_sets",
                                        .command = "ablate",
                                        .items = {"group of sets", "groups of sets"},
                                        .takes_batches = true,
                                        .compute = sets_outcomes,
                                        .cost = sets_cost,
                                        .add_inputs = add_sets_inputs,
                                        .make_rows = make_set_sums};
  return analysis;
}

SetEffect::SetEffect(const Record& row)
    : clean_loss(expect_vector<double>(row, "clean_loss")),
      loss(expect_vector<double>(row, "loss")),
      kl(expect_vector<double>(row, "kl")),
      changed(expect_vector<double>(row, "top_token_changed")),
      predicted(expect_vector<std::int64_t>(row, "predicted")),
      positions(expect_vector<std::int64_t>(row, "positions")) {
  const std::size_t sequences = clean_loss.size();
  for (const std::size_t size :
       {loss.size(), kl.size(), changed.size(), predicted.size(), positions.size()}) {
    if (size != sequences) refuse_field("loss");
  }
}

std::vector<double> SetEffect::increase() const {
  std::vector<double> out = loss;
  for (std::size_t at = 0; at < out.size(); ++at) out[at] -= clean_loss[at];
  return out;
}

double SetEffect::mean_increase() const { return mean_over(increase(), predicted).mean.value(); }

void SetEffect::add_fields(Record& row, const std::string& how) const {
  const MeanWithError found = mean_over(increase(), predicted);
  row.add("ablation", how)
      .add("loss_increase", found.mean)
      .add("loss_increase_error", found.standard_error)
      .add("kl", mean_over(kl, positions).mean)
      .add("top_token_changed", mean_over(changed, positions).mean);
}

void SetEffect::add_baseline(Record& row) const {
  row.add("loss", mean_over(clean_loss, predicted).mean)
      .add("predicted", std::accumulate(predicted.begin(), predicted.end(), std::int64_t{0}));
}

SetRuns::SetRuns(std::span<const Model> models, const AblateSetsRequest& request,
                 const Context& context, RowSink& sink)
    : models_(models),
      request_(request),
      ready_(models, context, /*predicts_tokens=*/true),
      sink_(sink) {
  for (std::size_t model = 0; model < models.size(); ++model) {
    const std::vector<TokenIds>& sequences = request.texts.sequences[model];
    const std::vector<TokenIds>& sources = request.texts.sources_of(model);
    if (request.how == "resample") check_resampling(request.texts, model);
    check_predicts_tokens(ready_.pass(model), sequences, request.texts.masks[model], sources);
    note_past_context(ready_.pass(model), sequences, sources, sink);
  }
}

std::vector<SetEffects> SetRuns::effects_of(const std::vector<std::vector<HeadSet>>& sets) const {
  Plan plan{.analysis = &ablate_sets_analysis(), .parameters = parameters()};
  for (std::size_t model = 0; model < models_.size(); ++model) add_items(plan, model, sets[model]);
  ReportCollector found;
  run_plan(plan, ready_.sources(), {.command = "ablate", .parameters = plan.parameters},
           ready_.rest(), found);
  for (const std::string& note : found.report().notes) sink_.add_note(note);
  std::vector<SetEffects> effects(models_.size());
  for (const Record& row : found.report().rows) {
    const std::string& name = expect<std::string>(row, "model");
    const auto model = std::ranges::find(models_, name, &Model::name);
    if (model == models_.end()) refuse_field("model");
    effects[static_cast<std::size_t>(model - models_.begin())].emplace(
        sets_from(expect<std::string>(row, "heads"), *model).front(), SetEffect(row));
  }
  return effects;
}

Record SetRuns::parameters() const {
  const ScoredTexts& texts = request_.texts;
  Record out = {{"ablation", request_.how}};
  return out.add("layers", request_.layers.parameter())
      .add("tokens_hash", tokens_hash(texts.sequences, texts.sources, texts.scored));
}

ReportHead SetRuns::head(Record parameters) const {
  ReportHead out{.command = "ablate", .parameters = std::move(parameters)};
  for (const auto& [name, value] : request_.texts.parameters.fields()) {
    out.parameters.add(name, value);
  }
  const Record shared = this->parameters();
  for (const auto& [name, value] : shared.fields()) out.parameters.add(name, value);
  for (const Model& model : models_) out.models.push_back(facts_record(summarize(model)));
  return out;
}

/// Adds the sets of one model, in groups with the same first layer.
void SetRuns::add_items(Plan& plan, std::size_t model, const std::vector<HeadSet>& sets) const {
  constexpr std::size_t kSetsPerItem = 32;
  std::map<std::int64_t, std::vector<std::string>> of_layer;
  for (const HeadSet& set : sets) of_layer[first_layer(set)].push_back(heads_text(set));
  const ScoredTexts& texts = request_.texts;
  for (const auto& [layer, all] : of_layer) {
    for (std::size_t first = 0; first < all.size(); first += kSetsPerItem) {
      const auto some = std::span(all).subspan(first, std::min(kSetsPerItem, all.size() - first));
      WorkItem& item = plan.add(model, std::nullopt);
      item.parameters.add("sets", join(std::vector<std::string>(some.begin(), some.end()), ";"));
      add_mask_parameter(item, texts.masks[model]);
      item.batch = SequenceBatch{.first = 0,
                                 .tokens = texts.sequences[model],
                                 .layers = {layer},
                                 .sources = texts.sources_of(model),
                                 .scored = texts.scored_of(model)};
    }
  }
}

}  // namespace attnscope
