#include "attnscope/features/plan/rank_sensitivity.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/features/common/sequence_batches.h"

namespace attnscope {
namespace {

/// The rank at which sensitivity is measured: half of the break-even rank.
std::int64_t probed_rank(const RankOptions& options) {
  return std::max<std::int64_t>(1, options.break_even() / 2);
}

std::vector<Role> asked_roles(const WorkItem& item) {
  std::vector<Role> roles;
  const Value* names = item.parameters.find("matrix");
  if (names == nullptr || names->is_null()) return roles;
  for (const Value& name : expect<Value::List>(*names, "matrix")) {
    const auto role = role_from_name(expect<std::string>(name, "matrix"));
    if (!role) refuse_field("matrix");
    roles.push_back(*role);
  }
  return roles;
}

std::vector<Outcome> item_outcomes(const WorkItem& item, const ModelSource& source,
                                   const Compute& compute) {
  const Model& model = *source.model;
  const std::int64_t layer = item.batch->layers.front();
  const std::vector<TokenIds>& windows = item.batch->tokens;
  constexpr std::uint64_t kOneLayer = 0;
  Calibration calibration(model, {.windows = windows}, kOneLayer,
                          expect<double>(item.parameters, "ridge"));
  std::optional<Divergence> divergence;
  const auto probe_tokens = expect<std::int64_t>(item.parameters, "probe_tokens");
  if (probe_tokens > 0) {
    const std::vector<TokenIds> probed = probe_windows({.windows = windows}, probe_tokens);
    const std::vector<TokenIds> scored = probe_scored(probed, item.batch->scored);
    divergence.emplace(
        calibration.pass(compute),
        TextWindows{.windows = probed, .mask = mask_parameter(item), .scored = scored}, compute);
  }
  return ranks_of_layer(model, layer, ranked_matrices(model, layer, asked_roles(item)),
                        calibration.statistics(compute), divergence ? &*divergence : nullptr,
                        compute);
}

/// Cost of two forward passes, the second moments of a layer and the spectra of its matrices.
Cost item_cost(const WorkItem& item, const ModelSource& source) {
  Cost cost = batch_cost(item, source);
  cost.memory_bytes += Calibration(*source.model, TextWindows{}, 0, 0).buffered_bytes() +
                       spectra_bytes(*source.model, /*with_directions=*/true);
  return cost;
}

void add_item_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  for (const auto& [name, value] : item.parameters.fields()) inputs.add(name, value);
}

/// Rows for a run of only this analysis. Plans use the outcomes directly.
RowMaker make_ranks_rows(RowSink& sink) {
  return {.add = [&sink](const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) {
      Record row = {{"model", place.model}};
      for (const auto& [name, value] : outcome.fields.fields()) row.add(name, value);
      sink.add_row(std::move(row));
    }
  }};
}

}  // namespace

std::vector<Role> ranked_matrices(const Model& model, std::int64_t layer,
                                  const std::vector<Role>& asked) {
  std::vector<Role> roles = stored_projections(model, layer);
  std::erase_if(roles, [&](Role role) {
    const bool of_latent = role == Role::query_up || role == Role::kv_up;
    return of_latent ||
           (!asked.empty() && std::find(asked.begin(), asked.end(), role) == asked.end());
  });
  return roles;
}

std::vector<TokenIds> probe_windows(const TextWindows& text, std::int64_t tokens) {
  std::vector<TokenIds> out;
  for (const TokenIds& window : text.windows) {
    if (tokens <= 0) break;
    const auto count = text.sources.empty() ? std::min<std::int64_t>(tokens, std::ssize(window))
                                            : std::ssize(window);
    out.emplace_back(window.begin(), window.begin() + count);
    tokens -= count;
  }
  return out;
}

std::vector<TokenIds> probe_scored(std::span<const TokenIds> windows,
                                   std::span<const TokenIds> scored) {
  std::vector<TokenIds> out;
  for (std::size_t at = 0; !scored.empty() && at < windows.size(); ++at) {
    out.emplace_back(scored[at].begin(), scored[at].begin() + std::ssize(windows[at]));
  }
  return out;
}

std::vector<Outcome> ranks_of_layer(const Model& model, std::int64_t layer,
                                    const std::vector<Role>& roles, const TextStatistics& text,
                                    const Divergence* divergence, const Compute& compute) {
  std::vector<Outcome> outcomes(roles.size());
  std::vector<Matrix<float>> states(roles.size());
  std::mutex one_whole_model;
  for_matrices(
      model, layer, roles, text, compute,
      [&](std::size_t at, Matrix<double> weight, const MeanMoments& moments, const Compute& own) {
        Outcome& outcome = outcomes[at];
        outcome.fields = {{"layer", layer}, {"matrix", role_name(roles[at])}};
        if (auto reason = find_not_finite(std::as_const(weight).view())) {
          outcome.skipped = *std::move(reason);
          return;
        }
        RankOptions options{.rows = weight.rows(), .cols = weight.cols(), .energies = {}};
        const std::int64_t rank = probed_rank(options);
        const OutputDirections directions = output_directions(weight.view(), moments, own, rank);
        outcome.fields.add("rows", options.rows)
            .add("cols", options.cols)
            .add("energies", directions.energies);
        if (divergence == nullptr) return;
        LayerMatrices matrices;
        matrices.weights.emplace(roles[at], truncated(std::move(weight), directions, rank, own));
        ChangedModel changed(model);
        changed.set_layer(layer, matrices);
        std::unique_lock lock(one_whole_model, std::defer_lock);
        if (divergence->opens_whole_models()) lock.lock();
        states[at] = divergence->states_of(changed, layer, own);
      });
  if (divergence == nullptr) return outcomes;
  std::vector<Matrix<float>> probed;
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    if (outcomes[at].skipped.empty()) probed.push_back(std::move(states[at]));
  }
  const std::vector<double> probes = divergence->of(probed, compute);
  std::size_t next = 0;
  for (Outcome& outcome : outcomes) {
    if (outcome.skipped.empty()) outcome.fields.add("kl", probes[next++]);
  }
  return outcomes;
}

FoundRank found_rank(std::int64_t layer, const Outcome& outcome) {
  const auto role = role_from_name(expect<std::string>(outcome.fields, "matrix"));
  if (!role) refuse_field("matrix");
  FoundRank out{.place = {layer, *role},
                .options = {.rows = expect<std::int64_t>(outcome.fields, "rows"),
                            .cols = expect<std::int64_t>(outcome.fields, "cols"),
                            .energies = expect_vector<double>(outcome.fields, "energies")},
                .probe = {}};
  if (outcome.fields.find("kl") == nullptr) return out;
  out.probe = expect<double>(outcome.fields, "kl");
  const double dropped = out.options.dropped(probed_rank(out.options));
  out.options.weight = dropped > 0 ? *out.probe / dropped : 0;
  return out;
}

WorkItem layer_ranks_item(const PlanRequest& request, double ridge, std::int64_t layer) {
  WorkItem item{.analysis = std::string(layer_ranks_analysis().name),
                .parameters = {{"ridge", ridge}},
                .batch = SequenceBatch{.first = 0,
                                       .tokens = request.text.calibration,
                                       .layers = {layer},
                                       .scored = request.text.calibration_scored}};
  const bool probed = request.rank_allocation == RankAllocation::kl;
  item.parameters.add("probe_tokens", probed ? request.probe_tokens : 0)
      .add("matrix", roles_value(request.matrices));
  add_mask_parameter(item, request.text.mask);
  return item;
}

const Analysis& layer_ranks_analysis() {
  static constexpr Analysis analysis = {.name = "layer_ranks",
                                        .command = "plan",
                                        .items = {"layer", "layers"},
                                        .takes_batches = true,
                                        .compute = item_outcomes,
                                        .cost = item_cost,
                                        .add_inputs = add_item_inputs,
                                        .make_rows = make_ranks_rows};
  return analysis;
}

}  // namespace attnscope
