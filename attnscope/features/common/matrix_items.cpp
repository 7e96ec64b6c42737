#include "attnscope/features/common/matrix_items.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/expected_roles.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_selection(std::string problem) {
  throw Error(ErrorKind::usage, {.parameter = "layers", .problem = std::move(problem)});
}

/// Returns, for example, "layers 0-2, 4 have Gated DeltaNet in place of attention".
std::string other_mixers(const Dimensions& dimensions, std::span<const std::int64_t> layers) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> of_name;
  for (const std::int64_t layer : layers) {
    const std::string& name = dimensions.mixers->layers[static_cast<std::size_t>(layer)].name;
    auto found = std::find_if(of_name.begin(), of_name.end(),
                              [&](const auto& each) { return each.first == name; });
    if (found == of_name.end()) found = of_name.insert(found, {name, {}});
    found->second.push_back(layer);
  }
  std::vector<std::string> parts;
  for (const auto& [name, own] : of_name) {
    parts.push_back(noun_for(own.size(), "layer") + " " + runs_text(own) +
                    (own.size() == 1 ? " has " : " have ") + name);
  }
  return join(parts, ", ") + " in place of attention";
}

}  // namespace

void note_set_aside(std::span<const Model> models, RowSink& notes) {
  for (const Model& model : models) {
    std::map<std::string, std::string> reasons;  // by role
    for (const TensorRule& rule : model.spec().architecture.others) {
      if (!rule.set_aside.empty()) reasons[rule.role] = rule.set_aside;
    }
    if (reasons.empty()) continue;
    std::map<std::string, std::size_t> found;  // number of tensors by reason
    for (const TensorSummary& tensor : take_inventory(model, {}).tensors) {
      const auto reason = reasons.find(tensor.role);
      if (reason != reasons.end()) ++found[reason->second];
    }
    for (const auto& [reason, tensors] : found) {
      notes.add_note(model.name() + ": " + counted(tensors, "tensor") +
                     (tensors == 1 ? " is" : " are") + " not analyzed: " + reason);
    }
  }
}

std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted, RowSink& notes,
                                               bool of_experts) {
  if (of_experts && wanted.empty()) note_set_aside(models, notes);
  // A matrix that a layer should have but the files lack is skipped with a reason. A matrix that no
  // layer should have is omitted, unless it was requested by name.
  const auto applies = [&](const Model& model, Role role) {
    if (of_experts && model.describes_of_expert(role)) return true;
    if (wanted.empty()) return is_expected(model, role) && !is_mla_product(role);
    return model.describes(role);
  };
  for (const Role role : wanted) {
    const bool known = std::any_of(models.begin(), models.end(),
                                   [&](const Model& model) { return applies(model, role); });
    if (!known) {
      throw Error(ErrorKind::usage, {.parameter = "matrix",
                                     .problem = models.front().name() + " has no '" +
                                                std::string(role_name(role)) + "'"});
    }
  }
  const std::span<const Role> candidates =
      wanted.empty() ? std::span<const Role>(kProjections) : wanted;
  std::vector<std::vector<Role>> selected;
  for (const Model& model : models) {
    auto& own = selected.emplace_back();
    for (const Role role : candidates) {
      if (applies(model, role) && std::find(own.begin(), own.end(), role) == own.end()) {
        own.push_back(role);
      }
    }
    if (own.empty()) notes.add_note(model.name() + " has none of these matrices");
  }
  return selected;
}

std::vector<std::int64_t> attention_layers(const LayerSelection& layers, const Model& model,
                                           RowSink* notes) {
  const Dimensions& dimensions = model.dimensions();
  std::vector<std::int64_t> attending, others;
  for (const std::int64_t layer : layers.resolve(dimensions.layers, model.name())) {
    (dimensions.attends(layer) ? attending : others).push_back(layer);
  }
  if (attending.empty()) {
    refuse_selection(model.name() + ": " + why_not_mixed(dimensions, Role::query, others.front()));
  }
  if (notes != nullptr && !others.empty()) {
    notes->add_note(model.name() + ": " + other_mixers(dimensions, others));
  }
  return attending;
}

bool is_passed_over(const LayerSelection& layers, const Model& model, Role role,
                    std::int64_t layer) {
  return layers.ranges.empty() && std::ranges::any_of(model.parts_of(role), [&](Role part) {
           return !why_not_mixed(model.dimensions(), part, layer).empty();
         });
}

void note_other_mixers(std::span<const Model> models, std::span<const std::vector<Role>> roles,
                       const LayerSelection& layers, RowSink& notes) {
  if (!layers.ranges.empty()) return;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Dimensions& dimensions = models[index].dimensions();
    std::vector<std::int64_t> others;
    for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
      if (!dimensions.attends(layer)) others.push_back(layer);
    }
    if (others.empty() || !std::ranges::any_of(roles[index], is_attention)) continue;
    notes.add_note(models[index].name() + ": " + other_mixers(dimensions, others));
  }
}

void add_layers(Plan& plan, std::span<const Model> models, std::span<const std::vector<Role>> roles,
                const LayerSelection& layers, RowSink& notes) {
  note_other_mixers(models, roles, layers, notes);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
      for (const Role role : roles[index]) {
        if (!is_passed_over(layers, model, role, layer)) plan.add(index, layer).role = role;
      }
    }
  }
}

Value roles_value(std::span<const Role> roles) {
  if (roles.empty()) return {};
  Value::List names;
  for (const Role role : roles) names.emplace_back(role_name(role));
  return names;
}

}  // namespace attnscope
