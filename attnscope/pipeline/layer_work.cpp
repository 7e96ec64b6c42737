#include "attnscope/pipeline/layer_work.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "attnscope/model/inventory.h"
#include "attnscope/pipeline/info.h"

namespace attnscope {
namespace {

/// Two matrices with equal keys are the same numbers.
using WeightKey =
    std::tuple<std::size_t, Role, std::vector<std::pair<const CheckpointTensor*, std::int64_t>>>;

WeightKey weight_key(const Model& model, std::size_t model_index, std::int64_t layer, Role role) {
  WeightKey key{model_index, role, {}};
  for (const Role factor : factors_of(role)) {
    const Weight& weight = model.weight(layer, factor);
    std::get<2>(key).emplace_back(weight.tensor, weight.matrix.first);
  }
  return key;
}

ItemInputs inputs_of(const LayerWork& work, const Model& model, std::int64_t layer, Role role) {
  ItemInputs inputs;
  inputs.add("role", role_name(role)).add_shape(model);
  for (const Role factor : factors_of(role)) {
    const Weight& weight = model.weight(layer, factor);
    inputs.add_matrix(model.checkpoint(), *weight.tensor, weight.matrix);
  }
  if (work.add_inputs) work.add_inputs(inputs, model, layer, role);
  return inputs;
}

}  // namespace

std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads) {
  std::vector<Outcome> outcomes = {{.skipped = reason}};
  for (std::int64_t head = 0; head < heads; ++head) {
    outcomes.push_back({.head = head, .skipped = reason});
  }
  return outcomes;
}

std::uint64_t stored_bytes(const Model& model, std::int64_t layer, Role role) {
  std::uint64_t total = 0;
  for (const Role factor : factors_of(role)) {
    const TensorMatrix& matrix = model.weight(layer, factor).matrix;
    total += static_cast<std::uint64_t>(matrix.rows * matrix.cols) *
             static_cast<std::uint64_t>(dtype_info(matrix.tensor.dtype).bits) / 8;
  }
  return total;
}

void prefetch(const Model& model, std::int64_t layer, Role role) {
  for (const Role factor : factors_of(role)) {
    const Weight& weight = model.weight(layer, factor);
    if (weight.tensor == nullptr) continue;
    model.checkpoint().prefetch(*weight.tensor, byte_range(weight.matrix));
  }
}

void run_layers(Report& report, std::span<const Model> models,
                std::span<const std::vector<Role>> roles, const LayerSelection& layers,
                const LayerWork& work, const Resources& resources, const ProgressFn& on_progress) {
  // One item for each distinct matrix, and for each group of rows the item it comes from.
  struct RowGroup {
    std::size_t model;
    std::int64_t layer;
    Role role;
    std::size_t item;
    std::size_t position;  // of the role
  };
  std::vector<RowGroup> groups;
  std::vector<WorkItem> items;
  std::map<WeightKey, std::size_t> item_of;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
      for (std::size_t position = 0; position < roles[index].size(); ++position) {
        const Role role = roles[index][position];
        const auto [found, fresh] =
            item_of.emplace(weight_key(model, index, layer, role), items.size());
        if (!fresh && work.shares_equal_weights && model.has(role, layer)) {
          groups.push_back({index, layer, role, found->second, position});
          continue;
        }
        groups.push_back({index, layer, role, items.size(), position});
        items.push_back({.flops = work.flops(model, role),
                         .bytes = stored_bytes(model, layer, role),
                         .memory_bytes = work.memory_bytes(model, layer, role),
                         .run = {},
                         .prefetch = [&model, layer, role] { prefetch(model, layer, role); }});
      }
    }
  }
  for (const Model& model : models) {
    report.models.push_back(facts_record(model_facts(model)));
  }
  std::optional<StoredItems> stored;
  std::vector<std::vector<StoredPlace>> places(items.size());
  if (work.store != nullptr) {
    StoredRun run{.analysis = work.analysis, .parameters = report.parameters};
    for (std::size_t index = 0; index < models.size(); ++index) {
      run.models.push_back(stored_model(models[index], report.models[index]));
    }
    stored.emplace(*work.store, run);
    for (const RowGroup& group : groups) {
      places[group.item].push_back({.model = group.model,
                                    .layer = group.layer,
                                    .matrix = std::string(role_name(group.role)),
                                    .position = static_cast<std::int64_t>(group.position)});
    }
  }
  std::vector<std::vector<Outcome>> outcomes(items.size());
  for (const RowGroup& group : groups) {
    items[group.item].run = [&, group] {
      const Model& model = models[group.model];
      const auto compute = [&] { return work.compute(model, group.layer, group.role); };
      outcomes[group.item] = stored && model.has(group.role, group.layer)
                                 ? stored->get(inputs_of(work, model, group.layer, group.role),
                                               places[group.item], compute)
                                 : compute();
    };
  }
  run_all(items, resources, on_progress);
  if (stored) stored->finish();

  for (const RowGroup& group : groups) {
    for (const Outcome& outcome : outcomes[group.item]) {
      add_outcome(report, models[group.model].name(), group.layer, work.role_field,
                  std::string(role_name(group.role)), outcome);
    }
  }
}

void add_outcome(Report& report, const std::string& model, std::optional<std::int64_t> layer,
                 std::string_view role_field, const std::string& role, const Outcome& outcome) {
  if (!outcome.skipped.empty()) {
    report.skipped.push_back({model, layer, role, outcome.head, outcome.skipped});
    return;
  }
  Record row = {{"model", model}, {"layer", layer}};
  row.add(std::string(role_field), role).add("head", outcome.head);
  for (const auto& [name, value] : outcome.fields.fields()) row.add(name, value);
  report.rows.push_back(std::move(row));
  if (outcome.note.empty()) return;
  std::string place = model + ": " + role;
  if (layer) place += " of layer " + std::to_string(*layer);
  if (outcome.head) place += ", head " + std::to_string(*outcome.head);
  report.notes.push_back(place + ": " + outcome.note);
}

}  // namespace attnscope
