#include "attnscope/features/plan/rank_search.h"

#include <algorithm>
#include <optional>

#include "attnscope/engine/work_queue.h"
#include "attnscope/features/plan/methods/low_rank.h"
#include "attnscope/features/plan/rank_sensitivity.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {

std::int64_t RankTable::parameters() const {
  std::int64_t sum = 0;
  for (const RankOptions& matrix : options) sum += matrix.rows * matrix.cols;
  return sum;
}

std::size_t Planner::rank_steps() const {
  return request_.layers.resolve(model_.dimensions().layers, model_.name()).size();
}

const RankTable& Planner::ranks() {
  if (!ranks_.places.empty()) return ranks_;
  ranks_.skipped.clear();
  const std::vector<std::int64_t> layers =
      request_.layers.resolve(model_.dimensions().layers, model_.name());
  std::vector<std::vector<Outcome>> found(layers.size());
  TextWindows probe = request_.text.fitted();
  const std::vector<TokenIds> windows = probe_windows(probe, request_.probe_tokens);
  probe.windows = windows;
  probe.mask = request_.text.mask;
  if (!probe.sources.empty()) probe.sources = probe.sources.first(windows.size());
  const std::vector<TokenIds> scored = probe_scored(windows, probe.scored);
  probe.scored = scored;
  std::optional<Divergence> divergence;
  const bool goes_elsewhere =
      steps_.context().compute_elsewhere && request_.text.calibration_sources.empty();
  const auto find = [&](std::size_t at, const Compute& compute) {
    const std::vector<Role> roles = ranked_matrices(model_, layers[at], request_.matrices);
    const WorkItem item = layer_ranks_item(request_, ridge(), layers[at]);
    Record facts = {{"layer", layers[at]}, {"fitted", fitted_hash_}};
    for (const auto& [name, value] : item.parameters.fields()) facts.add(name, value);
    found[at] = steps_.get("layer_ranks", facts, [&] {
      if (goes_elsewhere) return steps_.context().compute_elsewhere(item, compute.stop);
      const bool probed = request_.rank_allocation == RankAllocation::kl;
      if (probed && !divergence) divergence.emplace(pass(), probe, compute);
      return ranks_of_layer(model_, layers[at], roles, calibration_.statistics(compute),
                            divergence ? &*divergence : nullptr, compute);
    });
  };
  if (goes_elsewhere) {  // other processes compute all layers at once; in this process, layers
                         // share what is in memory
    Context context = steps_.context();
    context.on_progress = {};
    std::vector<QueueItem> items;
    for (std::size_t at = 0; at < layers.size(); ++at) {
      items.push_back(
          {.flops = 1, .run = [&find, at](const Compute& compute) { find(at, compute); }});
    }
    run_queue(items, context);
  } else {
    for (std::size_t at = 0; at < layers.size(); ++at) find(at, compute_);
  }
  for (std::size_t at = 0; at < layers.size(); ++at) {
    for (const Outcome& outcome : found[at]) {
      if (!outcome.skipped.empty()) {
        ranks_.skipped.push_back({.model = model_.name(),
                                  .layer = layers[at],
                                  .matrix = expect<std::string>(outcome.fields, "matrix"),
                                  .head = {},
                                  .reason = outcome.skipped});
        continue;
      }
      FoundRank own = found_rank(layers[at], outcome);
      ranks_.places.push_back(own.place);
      ranks_.options.push_back(std::move(own.options));
      if (own.probe) ranks_.probes.push_back(*own.probe);
    }
  }
  if (ranks_.places.empty() && !ranks_.skipped.empty()) {
    const Skipped& first = ranks_.skipped.front();
    throw Error(ErrorKind::numerical,
                {.place = verbatim(model_.name()),
                 .problem = "no matrix can be factored: " + first.matrix + " of layer " +
                            std::to_string(*first.layer) + " " + first.reason});
  }
  return ranks_;
}

Choice Planner::at_budget(std::int64_t parameters) {
  const RankTable& table = ranks();
  Choice out{.method = low_rank_method(), .size = parameters};
  std::vector<std::int64_t> ranks;
  switch (request_.rank_allocation) {
    case RankAllocation::kl:
      ranks = allocate_ranks(table.options, parameters, request_.round);
      break;
    case RankAllocation::energy:
      ranks = energy_ranks(table.options, parameters, request_.round);
      break;
    case RankAllocation::uniform:
    case RankAllocation::plain:
      ranks = uniform_ranks(table.options, parameters, request_.round);
      break;
  }
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (ranks[at] > 0) out.ranks.emplace(table.places[at], ranks[at]);
  }
  return out;
}

double Planner::predicted_kl(const Choice& choice) {
  if (!choice.method->allocates_ranks() || request_.rank_allocation != RankAllocation::kl) return 0;
  const RankTable& table = ranks();
  double sum = 0;
  for (std::size_t at = 0; at < table.places.size(); ++at) {
    const auto own = choice.ranks.find(table.places[at]);
    if (own == choice.ranks.end()) continue;
    sum += table.options[at].weight * table.options[at].dropped(own->second);
  }
  return sum;
}

}  // namespace attnscope
