#include "attnscope/analyses/selection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_selection(std::string problem) {
  throw Error(ErrorKind::usage, {.parameter = "layers", .problem = std::move(problem)});
}

}  // namespace

std::string LayerRange::text() const {
  const std::string start = std::to_string(first);
  if (first == last) return start;
  return start + "-" + (last == -1 ? "" : std::to_string(last));
}

Value LayerSelection::parameter() const {
  if (ranges.empty()) return {};
  std::vector<std::string> texts;
  for (const LayerRange& range : ranges) texts.push_back(range.text());
  return join(texts, ",");
}

std::vector<std::int64_t> LayerSelection::resolve(std::int64_t layers,
                                                  std::string_view model) const {
  std::set<std::int64_t> chosen;
  if (ranges.empty()) {
    for (std::int64_t layer = 0; layer < layers; ++layer) chosen.insert(layer);
  }
  for (const LayerRange& range : ranges) {
    const auto from_start = [&](std::int64_t layer) {
      const std::int64_t counted = layer < 0 ? layer + layers : layer;
      if (counted < 0 || counted >= layers) {
        refuse_selection('\'' + range.text() + "': " + std::string(model) + " has layers 0 to " +
                         std::to_string(layers - 1));
      }
      return counted;
    };
    const std::int64_t first = from_start(range.first), last = from_start(range.last);
    if (first > last) {
      refuse_selection('\'' + range.text() + "' runs backwards in " + std::string(model));
    }
    for (std::int64_t layer = first; layer <= last; ++layer) chosen.insert(layer);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted, RowSink& notes,
                                               bool of_experts) {
  // What was asked for by name and is not in the files will be skipped with a reason; what was not
  // asked for by name is left out.
  const auto applies = [&](const Model& model, Role role) {
    if (of_experts && model.describes_of_expert(role)) return true;
    return wanted.empty() ? model.has(role) : model.describes(role);
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

void add_layers(Plan& plan, std::span<const Model> models, std::span<const std::vector<Role>> roles,
                const LayerSelection& layers) {
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
      for (const Role role : roles[index]) plan.add(index, layer).role = role;
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
