// `ablate --heads`, `--cumulative` and `--pairs`.
#include "attnscope/features/ablate/head_sets_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/features/ablate/components.h"
#include "attnscope/features/ablate/head_set_effects.h"

namespace attnscope {
namespace {

/// The requested heads of a model, or all heads of the requested layers; ascending.
HeadSet candidates_of(const Model& model, const AblateSetsRequest& request, RowSink& sink) {
  HeadSet out;
  for (const HeadIndex& head : request.heads) out.push_back(place_in(model, head, "heads"));
  if (request.heads.empty()) {
    for (const std::int64_t layer : attention_layers(request.layers, model, &sink)) {
      const std::int64_t count = model.spec().dimensions_of(layer).heads.heads;
      for (std::int64_t head = 0; head < count; ++head) out.push_back({layer, head});
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<HeadSet> each_alone(const HeadSet& heads) {
  std::vector<HeadSet> out;
  for (const HeadIndex& head : heads) out.push_back({head});
  return out;
}

/// The row of a set, with its interaction: the loss increase beyond the sum of its heads'.
Record set_row(const Model& model, const HeadSet& set, const SetEffects& alone,
               const SetEffect& effect, const std::string& how) {
  std::vector<double> sum(effect.loss.size(), 0), interaction = effect.increase();
  for (const HeadIndex& head : set) {
    const std::vector<double> own = alone.at({head}).increase();
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += own[at];
  }
  for (std::size_t at = 0; at < sum.size(); ++at) interaction[at] -= sum[at];
  Record row = {{"model", model.name()}, {"heads", heads_text(set)}, {"count", std::ssize(set)}};
  effect.add_fields(row, how);
  const bool several = set.size() > 1;
  const MeanWithError beyond = several ? mean_over(interaction, effect.predicted) : MeanWithError();
  row.add("sum_of_increases", several ? Value(mean_over(sum, effect.predicted).mean) : Value())
      .add("interaction", beyond.mean)
      .add("interaction_error", beyond.standard_error);
  effect.add_baseline(row);
  return row;
}

Value candidates_value(const AblateSetsRequest& request) {
  return request.heads.empty() ? Value() : Value(heads_text(request.heads));
}

void run_heads(std::span<const Model> models, const SetRuns& runs,
               const std::vector<HeadSet>& candidates, const AblateSetsRequest& request,
               RowSink& sink) {
  std::vector<std::vector<HeadSet>> sets;
  for (const HeadSet& heads : candidates) {
    sets.push_back(each_alone(heads));
    if (heads.size() > 1) sets.back().push_back(heads);
  }
  const std::vector<SetEffects> effects = runs.effects_of(sets);
  sink.begin(runs.head({{"heads", candidates_value(request)}}));
  for (std::size_t model = 0; model < models.size(); ++model) {
    std::vector<HeadSet> shown = each_alone(candidates[model]);
    if (shown.size() > 1) shown.insert(shown.begin(), candidates[model]);
    for (const HeadSet& set : shown) {
      sink.add_row(
          set_row(models[model], set, effects[model], effects[model].at(set), request.how));
    }
  }
  sink.end();
}

/// The heads of the largest effects, in either direction; ascending. 0: all.
HeadSet strongest(const HeadSet& heads, const SetEffects& alone, std::int64_t count) {
  HeadSet out = heads;
  std::ranges::stable_sort(out, std::greater(), [&](const HeadIndex& head) {
    return std::abs(alone.at({head}).mean_increase());
  });
  if (count > 0 && count < std::ssize(out)) out.resize(static_cast<std::size_t>(count));
  std::ranges::sort(out);
  return out;
}

std::vector<HeadSet> pairs_of(const HeadSet& heads) {
  std::vector<HeadSet> out;
  for (std::size_t one = 0; one < heads.size(); ++one) {
    for (std::size_t other = one + 1; other < heads.size(); ++other) {
      out.push_back({heads[one], heads[other]});
    }
  }
  return out;
}

void run_pairs(std::span<const Model> models, const SetRuns& runs,
               const std::vector<HeadSet>& candidates, const AblateSetsRequest& request,
               RowSink& sink) {
  std::vector<HeadSet> chosen;  // per model
  std::vector<std::vector<HeadSet>> singles, pairs;
  for (const HeadSet& heads : candidates) singles.push_back(each_alone(heads));
  const std::vector<SetEffects> alone = runs.effects_of(singles);
  for (std::size_t model = 0; model < models.size(); ++model) {
    chosen.push_back(strongest(candidates[model], alone[model], request.pairs));
    pairs.push_back(pairs_of(chosen.back()));
    if (pairs.back().empty()) {
      throw Error(ErrorKind::usage, {.parameter = "pairs",
                                     .problem = models[model].name() + " has one head to ablate",
                                     .hint = "select at least two heads"});
    }
  }
  const std::vector<SetEffects> together = runs.effects_of(pairs);
  sink.begin(runs.head({{"pairs", request.pairs}, {"heads", candidates_value(request)}}));
  for (std::size_t model = 0; model < models.size(); ++model) {
    const auto add = [&](const HeadSet& set, const SetEffect& effect) {
      sink.add_row(set_row(models[model], set, alone[model], effect, request.how));
    };
    for (const HeadIndex& each : chosen[model]) add({each}, alone[model].at({each}));
    for (const HeadSet& pair : pairs[model]) add(pair, together[model].at(pair));
  }
  sink.end();
}

/// An order in which heads are removed.
struct RemovalOrder {
  std::optional<std::int64_t> draw;  // of a random order
  std::vector<HeadIndex> heads;
};

std::vector<RemovalOrder> removal_orders(const HeadSet& heads, const SetEffects& alone,
                                         std::uint64_t seed) {
  constexpr std::int64_t kDraws = 3;
  std::vector<RemovalOrder> orders = {{.draw = {}, .heads = heads}};
  std::ranges::stable_sort(orders.front().heads, {},
                           [&](const HeadIndex& head) { return alone.at({head}).mean_increase(); });
  std::mt19937_64 random(seed);  // fixed bit for bit by the C++ standard, unlike std::shuffle
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    std::vector<HeadIndex> order = heads;
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[random() % left]);
    }
    orders.push_back({.draw = draw, .heads = std::move(order)});
  }
  return orders;
}

/// Numbers of removed heads that are measured: all up to 32, else 32 of them at equal distances.
std::vector<std::size_t> removed_counts(std::size_t heads) {
  constexpr std::size_t kMost = 32;
  const std::size_t points = std::min(heads, kMost);
  std::vector<std::size_t> counts;
  for (std::size_t point = 1; point <= points; ++point) {
    counts.push_back(point * heads / points);
  }
  return counts;
}

HeadSet first_heads(const RemovalOrder& order, std::size_t count) {
  HeadSet set(order.heads.begin(), order.heads.begin() + static_cast<std::ptrdiff_t>(count));
  std::ranges::sort(set);
  return set;
}

void add_order_rows(const Model& model, const RemovalOrder& order, const SetEffects& effects,
                    const std::string& how, RowSink& sink) {
  std::size_t before = 0;
  for (const std::size_t count : removed_counts(order.heads.size())) {
    const HeadSet added(order.heads.begin() + static_cast<std::ptrdiff_t>(before),
                        order.heads.begin() + static_cast<std::ptrdiff_t>(count));
    before = count;
    const SetEffect& effect = effects.at(first_heads(order, count));
    Record row = {{"model", model.name()},
                  {"order", order.draw ? "random" : "effect"},
                  {"draw", order.draw},
                  {"removed", static_cast<std::int64_t>(count)},
                  {"heads", heads_text(added)}};
    effect.add_fields(row, how);
    effect.add_baseline(row);
    sink.add_row(std::move(row));
  }
}

void run_cumulative(std::span<const Model> models, const SetRuns& runs,
                    const std::vector<HeadSet>& candidates, const AblateSetsRequest& request,
                    RowSink& sink) {
  std::vector<std::vector<HeadSet>> singles, sets;
  for (const HeadSet& heads : candidates) singles.push_back(each_alone(heads));
  std::vector<SetEffects> alone = runs.effects_of(singles);
  std::vector<std::vector<RemovalOrder>> orders;
  for (std::size_t model = 0; model < models.size(); ++model) {
    orders.push_back(removal_orders(candidates[model], alone[model], request.seed));
    std::set<HeadSet> all;  // all orders end with the same set, and start with a single head
    for (const RemovalOrder& order : orders.back()) {
      for (const std::size_t count : removed_counts(order.heads.size())) {
        HeadSet set = first_heads(order, count);
        if (!alone[model].contains(set)) all.insert(std::move(set));
      }
    }
    sets.emplace_back(all.begin(), all.end());
  }
  std::vector<SetEffects> effects = runs.effects_of(sets);
  for (std::size_t model = 0; model < models.size(); ++model) effects[model].merge(alone[model]);
  sink.begin(runs.head({{"cumulative", true}, {"heads", candidates_value(request)}}));
  for (std::size_t model = 0; model < models.size(); ++model) {
    for (const RemovalOrder& order : orders[model]) {
      add_order_rows(models[model], order, effects[model], request.how, sink);
    }
  }
  sink.end();
}

}  // namespace

void run_ablate_sets(std::span<const Model> models, const AblateSetsRequest& request,
                     const Context& context, RowSink& sink) {
  const SetRuns runs(models, request, context, sink);
  std::vector<HeadSet> candidates;
  for (const Model& model : models) candidates.push_back(candidates_of(model, request, sink));
  switch (request.of) {
    case AblateSetsRequest::Of::heads: return run_heads(models, runs, candidates, request, sink);
    case AblateSetsRequest::Of::pairs: return run_pairs(models, runs, candidates, request, sink);
    case AblateSetsRequest::Of::cumulative:
      return run_cumulative(models, runs, candidates, request, sink);
  }
}

}  // namespace attnscope
