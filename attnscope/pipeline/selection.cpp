#include "attnscope/pipeline/selection.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

constexpr std::string_view kOption = "--layers";

/// The signed number at the front of `text`, which is taken off it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

LayerSelection::LayerSelection(std::string_view text) {
  for (const std::string& part : split(text, ',')) {
    std::string_view rest = part;
    const auto refuse = [&] {
      throw Error(ErrorKind::usage, kOption,
                  "'" + part + "' is not a layer or a range of layers (for example: 0-3,-4-)");
    };
    const auto first = take_number(rest);
    if (!first) refuse();
    Range range{.first = *first, .last = *first, .text = part};
    if (!rest.empty()) {
      if (rest.front() != '-') refuse();
      rest.remove_prefix(1);
      range.last = -1;  // `4-`: to the end
      if (!rest.empty()) {
        const auto last = take_number(rest);
        if (!last || !rest.empty()) refuse();
        range.last = *last;
      }
    }
    ranges_.push_back(std::move(range));
  }
}

std::vector<std::int64_t> LayerSelection::resolve(std::int64_t layers,
                                                  std::string_view model) const {
  std::set<std::int64_t> chosen;
  if (ranges_.empty()) {
    for (std::int64_t layer = 0; layer < layers; ++layer) chosen.insert(layer);
  }
  for (const Range& range : ranges_) {
    const auto from_start = [&](std::int64_t layer) {
      const std::int64_t counted = layer < 0 ? layer + layers : layer;
      if (counted < 0 || counted >= layers) {
        throw Error(ErrorKind::usage, kOption,
                    "'" + range.text + "': " + std::string(model) + " has layers 0 to " +
                        std::to_string(layers - 1));
      }
      return counted;
    };
    const std::int64_t first = from_start(range.first), last = from_start(range.last);
    if (first > last) {
      throw Error(ErrorKind::usage, kOption,
                  "'" + range.text + "' runs backwards in " + std::string(model));
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
      throw Error(ErrorKind::usage, "--matrix",
                  models.front().name() + " has no '" + std::string(role_name(role)) + "'");
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
