#include "attnscope/features/plan/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/plan/methods/depth.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/resumable_steps.h"

namespace attnscope {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // null in a row
constexpr LayerImportance kNoImportance = {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};

/// A row with only its location and parameters.
Record empty_row(const Model& model, Method method, std::optional<std::int64_t> layer, Value matrix,
                 std::int64_t parameters, std::int64_t after) {
  Record row = {{"model", model.name()}};
  row.add("method", method->name)
      .add("layer", layer)
      .add("matrix", std::move(matrix))
      .add("parameters", parameters)
      .add("parameters_after", after);
  return row;
}

Record& add_rest(Record& row, Value kept, Value rank, Value break_even, Value possible,
                 Value sensitivity, Value expected) {
  return row.add("kept", std::move(kept))
      .add("rank", std::move(rank))
      .add("break_even_rank", std::move(break_even))
      .add("max_possible_rank", std::move(possible))
      .add("sensitivity", std::move(sensitivity))
      .add("predicted_kl", std::move(expected));
}

/// Adds importance and removal order; null by default, for rows that do not describe a whole layer.
Record& add_removal(Record& row, const LayerImportance& worth = kNoImportance,
                    double loss = kUnknown, Value order = {}) {
  return row.add("block_influence", worth.influence)
      .add("attention_influence", worth.attention_influence)
      .add("mlp_influence", worth.mlp_influence)
      .add("loss_increase", loss)
      .add("attention_loss_increase", worth.attention_loss)
      .add("mlp_loss_increase", worth.mlp_loss)
      .add("order", std::move(order));
}

std::vector<Record> layer_rows(Planner& planner, const Choice& choice) {
  const Model& model = planner.model();
  const std::int64_t layers = model.dimensions().layers;
  const LayerOrder& order = planner.removals(1);
  const std::vector<LayerImportance> worth = planner.layer_importance();
  const std::vector<std::int64_t> gone = removed_layers(choice, layers);
  const bool ordered = std::ranges::all_of(gone, [&](std::int64_t layer) {  // false with --set
    return std::ranges::count(order.removed, layer) > 0;
  });
  std::vector<Record> rows;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto& kept = choice.kept.front();
    const bool stays = std::find(kept.begin(), kept.end(), layer) != kept.end();
    const auto removed = std::find(order.removed.begin(), order.removed.end(), layer);
    const std::int64_t own = parameters_of_layer(model, layer);
    Record& row =
        rows.emplace_back(empty_row(model, choice.method, layer, Value(), own, stays ? own : 0));
    add_rest(row, Value(), Value(), Value(), Value(), Value(), Value());
    const auto at = static_cast<std::size_t>(layer);
    const std::int64_t step = ordered && !stays ? removed - order.removed.begin() + 1 : 0;
    add_removal(row, worth[at], order.alone[at], stays ? Value() : Value(step));
  }
  return rows;
}

std::vector<Record> rank_rows(Planner& planner, const Choice& choice) {
  const RankTable& table = planner.ranks();
  std::vector<Record> rows;
  for (std::size_t at = 0; at < table.places.size(); ++at) {
    const auto& [layer, role] = table.places[at];
    const RankOptions& options = table.options[at];
    const auto own = choice.ranks.find(table.places[at]);
    const bool whole = own == choice.ranks.end();
    const std::int64_t before = options.rows * options.cols;
    Record& row = rows.emplace_back(
        empty_row(planner.model(), choice.method, layer, std::string(role_name(role)), before,
                  whole ? before : own->second * (options.rows + options.cols)));
    const bool probed = !table.probes.empty();
    add_rest(row, Value(), whole ? Value() : Value(own->second), options.break_even(),
             static_cast<std::int64_t>(options.energies.size()),
             probed ? Value(table.probes[at]) : Value(),
             whole    ? Value(0.0)
             : probed ? Value(options.weight * options.dropped(own->second))
                      : Value());
    add_removal(row);
  }
  return rows;
}

}  // namespace

std::vector<Record> plan_rows(Planner& planner, const Choice& choice) {
  if (choice.method->rows == PlanRows::removal) return layer_rows(planner, choice);
  if (choice.method->rows == PlanRows::matrix) return rank_rows(planner, choice);
  std::vector<Record> rows;
  const Model& model = planner.model();
  const bool by_layer = choice.kept.size() > 1;
  const std::int64_t count = by_layer ? std::ssize(choice.kept) : 1;
  const ModelSize after = size_after(model, planner.size(), choice);
  const std::int64_t own_layers = model.dimensions().layers;
  for (std::int64_t at = 0; at < count; ++at) {
    // For mlp, the layers of the other stack may follow.
    const Model& stack = at < own_layers ? model : *stack_of_same_width(model);
    const std::int64_t layer = at < own_layers ? at : at - own_layers;
    const std::int64_t before =
        by_layer ? parameters_of_layer(stack, layer) : planner.size().parameters;
    const std::int64_t cut = (planner.size().parameters - after.parameters) / count;
    Record& row = rows.emplace_back(empty_row(stack, choice.method,
                                              by_layer ? std::optional(layer) : std::nullopt,
                                              Value(), before, before - cut));
    const Value kept =
        choice.kept.empty() ? Value() : Value(choice.kept[static_cast<std::size_t>(at)]);
    add_rest(row, kept, Value(), Value(), Value(), Value(), Value());
    add_removal(row);
  }
  return rows;
}

std::string methods_text(const std::vector<Method>& methods) {
  std::vector<std::string> names;
  for (const Method method : methods) names.emplace_back(method->name);
  return join(names, ",");
}

Record planned_facts(const Model& model) {
  ModelSummary facts = summarize(model);
  if (model.stack().empty()) return facts_record(facts);
  const ModelSize whole = size_of(model);
  facts.parameters = whole.parameters;
  facts.kv_cache_bytes_per_token = whole.kv_cache_bytes_per_token;
  return facts_record(facts);
}

std::string choice_words(const Model& model, const Choice& choice) {
  return choice_words(choice, whole_size(model.dimensions(), choice.method));
}

namespace {

ReportHead head_of(const Model& model, const PlanRequest& request) {
  ReportHead head{.command = "plan", .models = {planned_facts(model)}};
  for (const auto& [name, value] : request.text.parameters.fields()) {
    head.parameters.add(name, value);
  }
  head.parameters.add("method", request.by.empty() ? Value() : Value(methods_text(request.by)))
      .add("rank_allocation", kRankAllocations[static_cast<std::size_t>(request.rank_allocation)])
      .add("ridge", request.ridge)
      .add("probe_tokens", request.probe_tokens)
      .add("eval_sequences", request.eval_sequences)
      .add("matrix", roles_value(request.matrices))
      .add("layers", request.layers.parameter())
      .add("tokens_hash", windows_hash(request.text.fitted()))
      .add("eval_hash", windows_hash(request.text.measured()));
  if (!request.target.text.empty()) head.parameters.add("target", request.target.text);
  return head;
}

}  // namespace

void send_comparison(const Model& model, const PlanRequest& request,
                     const std::vector<Candidate>& comparison, const PlannedModel& planned,
                     RowSink& sink) {
  ReportHead head = head_of(model, request);
  head.models.front()
      .add("mean_nll", planned.nll_before)
      .add("perplexity", std::exp(planned.nll_before));
  sink.begin(head);
  for (const Candidate& candidate : comparison) {
    const Choice& choice = candidate.choice;
    Record row = {{"model", model.name()}};
    row.add("method", choice.method->name)
        .add("description", choice_words(model, choice))
        .add("size", choice.size)
        .add("parameters", candidate.size.parameters)
        .add("kv_cache_bytes_per_token", candidate.size.kv_cache_bytes_per_token)
        .add("flops_per_token", candidate.size.flops_per_token)
        .add("relative_flops", candidate.size.flops_per_token / planned.before.flops_per_token)
        .add("mean_nll", candidate.mean_nll)
        .add("perplexity", std::exp(candidate.mean_nll))
        .add("loss_increase", candidate.mean_nll - planned.nll_before)
        .add("loadable", choice.method->loadable)
        .add("target", candidate.target)
        .add("note", choice.method->remark);
    sink.add_row(std::move(row));
  }
  for (const Skipped& skipped : planned.skipped) sink.add_skipped(skipped);
  sink.end();
}

void send_plan(const Model& model, const PlanRequest& request, const PlannedModel& planned,
               RowSink& sink) {
  ReportHead head = head_of(model, request);
  const Choice& choice = planned.choices.front();
  const bool one = planned.choices.size() == 1;
  std::vector<Method> methods;
  std::vector<std::int64_t> sizes;
  bool loadable = true;
  const bool probed =
      choice.method->allocates_ranks() && request.rank_allocation == RankAllocation::kl;
  std::vector<std::string> remarks;
  for (const Choice& own : planned.choices) {
    methods.push_back(own.method);
    sizes.push_back(own.size);
    loadable = loadable && own.method->loadable;
    if (!own.method->remark.empty()) remarks.emplace_back(own.method->remark);
  }
  Record plan = {{"method", methods_text(methods)}, {"description", join(planned.words, "; ")}};
  plan.add("size", one ? Value(choice.size) : Value())
      .add("sizes", sizes)
      .add("joint", choice.joint)
      .add("exact", choice.exact)
      .add("parameters_before", planned.before.parameters)
      .add("parameters_after", planned.after.parameters)
      .add("kv_cache_bytes_per_token_before", planned.before.kv_cache_bytes_per_token)
      .add("kv_cache_bytes_per_token_after", planned.after.kv_cache_bytes_per_token)
      .add("flops_per_token_before", planned.before.flops_per_token)
      .add("flops_per_token_after", planned.after.flops_per_token)
      .add("parts", std::ssize(planned.rows))
      .add("mean_nll_before", planned.nll_before)
      .add("mean_nll_after", planned.nll_after)
      .add("perplexity_before", std::exp(planned.nll_before))
      .add("perplexity_after", std::exp(planned.nll_after))
      .add("predicted_kl", probed ? Value(planned.predicted_kl) : Value())
      .add("loadable", loadable)
      .add("note", join(remarks))
      .add("model_hash", model_hash(model));
  head.models.front().add("plan", std::move(plan));
  sink.begin(head);
  for (const Record& row : planned.rows) sink.add_row(row);
  for (const Skipped& skipped : planned.skipped) sink.add_skipped(skipped);
  sink.end();
}

}  // namespace attnscope
