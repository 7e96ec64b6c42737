// A request for every analysis, and its work items.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/work_item.h"
#include "attnscope/features/ablate/head_sets_run.h"
#include "attnscope/features/ablate/induction_run.h"
#include "attnscope/features/ablate/run.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/attention/induction_run.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/features/attention/run.h"
#include "attnscope/features/circuits/composition_run.h"
#include "attnscope/features/circuits/run.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/experts/run.h"
#include "attnscope/features/lens/run.h"
#include "attnscope/features/similarity/run.h"
#include "attnscope/features/spectrum/mla_run.h"
#include "attnscope/features/spectrum/run.h"
#include "attnscope/features/weights/run.h"

namespace attnscope::test {

inline std::filesystem::path model_path(const std::string& name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / name;
}

/// Models of different families, each opened separately.
inline std::vector<Model> open_models(const std::vector<std::string>& names = {"llama", "gpt2"}) {
  std::vector<Model> models;
  for (const std::string& name : names) models.push_back(Model::open(model_path(name)));
  return models;
}

/// One request and its work items.
struct WorkItemCase {
  std::string name;
  std::function<void(std::span<const Model>, RowSink&)> run;
  Record parameters;
  std::vector<Role> roles;
  std::vector<std::int64_t> layers = {0, 1};
  std::vector<TokenIds> sequences = {};    // of batches; batch items have no layer
  std::vector<std::int64_t> experts = {};  // whose gate, up and down matrices are included
  std::vector<std::string> models = {"llama", "gpt2"};
  /// Completes the items; may be empty.
  std::function<void(std::vector<WorkItem>&, std::span<const Model>)> finish = {};
};

/// The items of all models, layer by layer.
inline std::vector<WorkItem> items_of(const WorkItemCase& asked, std::span<const Model> models) {
  Plan plan{.analysis = find_analysis(asked.name), .parameters = asked.parameters};
  for (std::size_t model = 0; model < models.size(); ++model) {
    if (!asked.sequences.empty()) {
      add_batches(plan, model, models[model], {.tokens = asked.sequences}, asked.layers);
      continue;
    }
    for (const std::int64_t layer : asked.layers) {
      for (const Role role : asked.roles) {
        if (is_of_mlp(role) && !asked.experts.empty()) {
          WorkItem& item = plan.add(model, layer);
          item.role = role;
          item.experts = asked.experts;
          continue;
        }
        if (models[model].describes(role)) plan.add(model, layer).role = role;
      }
      if (!asked.roles.empty()) continue;
      plan.add(model, layer);
      for (std::int64_t earlier = 0; earlier < layer; ++earlier) {
        plan.add(model, layer).earlier_layer = earlier;
      }
    }
  }
  if (asked.finish) asked.finish(plan.items, models);
  return plan.items;
}

/// Replaces each item of a batch by one item per layer.
inline void part_by_layers(std::vector<WorkItem>& items, std::span<const Model>) {
  std::vector<WorkItem> parted;
  for (const WorkItem& item : items) {
    for (const std::int64_t layer : item.batch->layers) {
      WorkItem& own = parted.emplace_back(item);
      own.parameters.add("components", "all");
      own.batch->layers = {layer};
    }
  }
  items = std::move(parted);
}

/// Adds the mean rows, relative to which `attended_token_effect` is measured.
inline void add_mean_rows(std::vector<WorkItem>& items, std::span<const Model> models) {
  for (WorkItem& item : items) {
    const ForwardPass pass(models[item.model], /*copy_weights=*/false, {});
    AttendedTokenEffects::prepare(pass, item.batch->tokens, std::span(&item, 1));
  }
}

/// The same sequences as run_induction() samples from 40 tokens, the vocabulary size of both
/// models.
inline std::vector<TokenIds> repeated_tokens(std::size_t sequences, std::size_t block,
                                             std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<TokenIds> out(sequences, TokenIds(2 * block));
  for (TokenIds& ids : out) {
    for (std::size_t at = 0; at < block; ++at) {
      ids[at] = ids[at + block] = static_cast<std::int64_t>(generator() % 40);
    }
  }
  return out;
}

inline void add_sets(std::vector<WorkItem>& items, std::span<const Model>) {
  for (WorkItem& item : items) item.parameters.add("sets", "L0H1;L0H0,L1H1");
}

/// Ablates sets of heads. The command makes its rows from those of these items.
inline void run_sets(std::span<const Model> models, const std::vector<TokenIds>& sequences,
                     RowSink& sink) {
  Plan plan{.analysis = &ablate_sets_analysis(), .parameters = {{"ablation", "mean"}}};
  for (std::size_t model = 0; model < models.size(); ++model) {
    add_batches(plan, model, models[model], {.tokens = sequences}, {0, 1});
  }
  add_sets(plan.items, models);
  run_plan(plan, sources_of(models), {.command = "ablate"}, {}, sink);
}

inline std::vector<WorkItemCase> work_item_cases() {
  const std::vector<double> energy = {0.5, 0.9};
  const std::vector<Role> all = {Role::query, Role::key,  Role::value, Role::output, Role::gate,
                                 Role::up,    Role::down, Role::qk,    Role::ov,     Role::kv};
  const Record spectrum = {
      {"energy", energy}, {"values", true}, {"rank", Value::List{"3", "0.25D"}}};
  const Record weights = {
      {"per_head", true}, {"histogram", true}, {"bins", 7}, {"range", Value::List{-0.25, 0.5}}};
  const Record similarity = {{"histogram", true}, {"bins", "fd"}, {"range", nullptr}};
  const std::vector<Role> vectors = {Role::query, Role::key, Role::value, Role::up, Role::down};
  const Record circuits = {{"energy", energy},
                           {"fold_norm", "centered"},
                           {"with_bias", true},
                           {"rope_offset", 0},
                           {"all_eigenvalues", false}};
  const Record pairs = {{"fold_norm", true}, {"with_bias", false}, {"rope_offset", 0}};
  const Record attention = {{"energy", 0.8}, {"exclude_first_token", false}};
  const std::vector<TokenIds> sequences = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
  const Record ranked = {
      {"ridge", 0.01}, {"probe_tokens", 5}, {"matrix", Value()}, {"mask", Value()}};
  return {
      {.name = "spectrum",
       .run =
           [=](auto models, RowSink& sink) {
             run_spectrum(models, {.matrices = all, .per_head = true, .options = spectrum}, {},
                          sink);
           },
       .parameters = {{"energy", energy},
                      {"values", true},
                      {"rank", Value::List{"3", "0.25D"}},
                      {"per_head", true}},
       .roles = all},
      {.name = "mla",
       .run = [=](auto models, RowSink& sink) { run_mla(models, {.options = spectrum}, {}, sink); },
       .parameters = {{"energy", energy}},
       .roles = {Role::query, Role::kv}},
      {.name = "weights",
       .run = [=](auto models,
                  RowSink& sink) { run_weights(models, {.options = weights}, {}, sink); },
       .parameters = weights,
       .roles = {kProjections.begin(), kProjections.end()}},
      {.name = "similarity",
       .run =
           [=](auto models, RowSink& sink) {
             run_similarity(models, {.matrices = vectors, .options = similarity}, {}, sink);
           },
       .parameters = similarity,
       .roles = vectors},
      {.name = "head_overlap",
       .run = [](auto models,
                 RowSink& sink) { run_similarity(models, {.overlap = true}, {}, sink); },
       .parameters = {},
       .roles = {Role::query, Role::key, Role::value}},
      {.name = "head_matrix",
       .run =
           [](auto models, RowSink& sink) {
             run_similarity(models, {.head_matrix = HeadIndex{.layer = -1, .head = 1}}, {}, sink);
           },
       .parameters = {{"head", 1}},
       .roles = {Role::query, Role::key, Role::value},
       .layers = {1}},
      {.name = "circuits",
       .run = [=](auto models,
                  RowSink& sink) { run_circuits(models, {.options = circuits}, {}, sink); },
       .parameters = circuits,
       .roles = {Role::qk, Role::ov}},
      {.name = "composition",
       .run = [=](auto models,
                  RowSink& sink) { run_composition(models, {.options = pairs}, {}, sink); },
       .parameters = pairs,
       .roles = {}},
      {.name = "attention",
       .run =
           [=](auto models, RowSink& sink) {
             AttentionRequest request{.options = attention};
             request.sequences.resize(models.size(), sequences);
             run_attention(models, request, {}, sink);
           },
       .parameters = attention,
       .sequences = sequences,
       .finish = add_mean_rows},
      {.name = "lens",
       .run =
           [=](auto models, RowSink& sink) {
             LensRequest request;
             request.texts.sequences.resize(models.size(), sequences);
             request.texts.masks.resize(models.size());
             run_lens(models, request, {}, sink);
           },
       .parameters = {{"resid_mid", false}},
       .sequences = sequences},
      {.name = "layer_ranks",
       .run =
           [=](auto models, RowSink& sink) {
             Plan plan{.analysis = find_analysis("layer_ranks"), .parameters = ranked};
             for (std::size_t model = 0; model < models.size(); ++model) {
               for (const std::int64_t layer : {0, 1}) {
                 plan.add(model, std::nullopt).batch =
                     SequenceBatch{.first = 0, .tokens = sequences, .layers = {layer}};
               }
             }
             run_plan(plan, sources_of(models), {}, {}, sink);
           },
       .parameters = ranked,
       .sequences = sequences,
       .finish = part_by_layers},
      {.name = "ablate",
       .run =
           [=](auto models, RowSink& sink) {
             AblateRequest request;
             request.texts.sequences.resize(models.size(), sequences);
             request.texts.masks.resize(models.size());
             run_ablate(models, request, {}, sink);
           },
       .parameters = {{"ablation", "mean"}},
       .sequences = sequences,
       .finish = part_by_layers},
      {.name = "ablate_sets",
       .run = [=](auto models, RowSink& sink) { run_sets(models, sequences, sink); },
       .parameters = {{"ablation", "mean"}},
       .sequences = sequences,
       .finish = add_sets},
      {.name = "ablate_induction",
       .run =
           [](auto models, RowSink& sink) {
             run_ablate_induction(models, {.sequences = 2, .block = 3, .seed = 5}, {}, {}, sink);
           },
       .sequences = repeated_tokens(2, /*block=*/3, /*seed=*/5),
       .finish = part_by_layers},
      {.name = "induction",
       .run =
           [](auto models, RowSink& sink) {
             run_induction(models, {.sequences = 2, .block = 3, .seed = 5}, {}, sink);
           },
       .sequences = repeated_tokens(2, /*block=*/3, /*seed=*/5)},
      {.name = "experts",
       .run =
           [=](auto models, RowSink& sink) {
             run_experts(models, {.experts = {"0,2"}, .thresholds = energy}, {}, sink);
           },
       .parameters = {{"energy", energy}},
       .roles = {Role::router, Role::gate, Role::up, Role::down},
       .experts = {0, 2},
       .models = {"forward/mixtral", "forward/phimoe"}},
      {.name = "routing",
       .run =
           [=](auto models, RowSink& sink) {
             RoutingRequest request;
             request.sequences.resize(models.size(), sequences);
             run_routing(models, request, {}, sink);
           },
       .parameters = {},
       .sequences = sequences,
       .models = {"forward/mixtral", "forward/phimoe"}},
  };
}

}  // namespace attnscope::test
