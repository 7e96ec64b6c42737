#include "attnscope/pipeline/selection.h"

#include <algorithm>
#include <set>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
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
        throw Error(ErrorKind::usage,
                    {.parameter = "layers",
                     .problem = "'" + range.text() + "': " + std::string(model) +
                                " has layers 0 to " + std::to_string(layers - 1)});
      }
      return counted;
    };
    const std::int64_t first = from_start(range.first), last = from_start(range.last);
    if (first > last) {
      throw Error(ErrorKind::usage,
                  {.parameter = "layers",
                   .problem = "'" + range.text() + "' runs backwards in " + std::string(model)});
    }
    for (std::int64_t layer = first; layer <= last; ++layer) chosen.insert(layer);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted) {
  for (const Role role : wanted) {
    const bool known = std::any_of(models.begin(), models.end(),
                                   [&](const Model& model) { return model.has(role); });
    if (!known) {
      throw Error(ErrorKind::usage, {.parameter = "matrix",
                                     .problem = models.front().name + " has no '" +
                                                std::string(role_name(role)) + "'"});
    }
  }
  const std::span<const Role> candidates =
      wanted.empty() ? std::span<const Role>(kProjections) : wanted;
  std::vector<std::vector<Role>> selected;
  for (const Model& model : models) {
    auto& own = selected.emplace_back();
    for (const Role role : candidates) {
      if (model.has(role) && std::find(own.begin(), own.end(), role) == own.end()) {
        own.push_back(role);
      }
    }
  }
  return selected;
}

}  // namespace attnscope
