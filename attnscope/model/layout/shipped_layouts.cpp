#include "attnscope/model/layout/shipped_layouts.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/layout/shipped_layout_texts.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// The value of a key that is present and not null.
const json* value_of(const json& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

/// Replaces "{key}" by the value in a config. "{a|b|4*c|5}": the first of these keys that the
/// config has, a product with a key, or a JSON value.
class ConfigValues {
 public:
  ConfigValues(const json& config, std::string_view where) : config_(config), where_(where) {}

  json filled(const json& layout) const {
    if (layout.is_string()) return filled_text(layout.get<std::string>());
    json out = layout;
    for (json& value : out) {
      if (value.is_structured() || value.is_string()) value = filled(value);
    }
    return out;
  }

 private:
  json filled_text(const std::string& text) const {
    // Tensor names contain {layer} too, but consist of more than that.
    if (!text.starts_with('{') || text.find('}') != text.size() - 1) return text;
    const std::vector<std::string> choices = split(text.substr(1, text.size() - 2), '|');
    for (const std::string& choice : choices) {
      if (const json* found = value_of(config_, choice)) return *found;
      const std::size_t times = choice.find('*');
      if (times != std::string::npos) {
        return product(json::parse(choice.substr(0, times)), choice.substr(times + 1));
      }
      const json constant = json::parse(choice, nullptr, /*allow_exceptions=*/false);
      if (!constant.is_discarded()) return constant;
    }
    throw Error(ErrorKind::format,
                {.file = std::string(where_), .problem = "has no '" + choices.front() + "'"});
  }

  json product(std::int64_t factor, const std::string& key) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const json* found = value_of(config_, key);
    if (found == nullptr || !found->is_number_integer() || *found < 1 || *found > kMost) {
      throw Error(ErrorKind::format, {.file = std::string(where_),
                                      .problem = "'" + key + "' is missing or not a whole number"});
    }
    return factor * found->get<std::int64_t>();
  }

  const json& config_;
  std::string_view where_;
};

/// Older configs call the type of RoPE scaling "type".
void rename_rope_type(json& layout) {
  const auto rope = layout.find("rope");
  if (rope == layout.end() || !rope->contains("scaling")) return;
  json& scaling = (*rope)["scaling"];
  if (!scaling.is_object() || scaling.contains("rope_type") || !scaling.contains("type")) return;
  scaling["rope_type"] = scaling["type"];
  scaling.erase("type");
}

}  // namespace

std::optional<std::string> shipped_layout(const json& config, std::string_view where) {
  const json* type = value_of(config, "model_type");
  if (type == nullptr) return std::nullopt;
  const std::string quoted = type->dump(-1, ' ', /*ensure_ascii=*/true);
  for (const std::string_view text : shipped_layout_texts()) {
    if (text.find(quoted) == std::string_view::npos) continue;  // most models need none of them
    const json each = json::parse(text);
    const json& types = each["model_types"];
    if (std::find(types.begin(), types.end(), *type) == types.end()) continue;
    for (const auto& [key, expected] : each["expects"].items()) {
      const json* found = value_of(config, key);
      if (found == nullptr || *found == expected) continue;
      throw Error(ErrorKind::unsupported,
                  {.file = std::string(where),
                   .problem = verbatim("'" + key + "' is " + found->dump() +
                                       ", which the layout of '" + type->get<std::string>() +
                                       "' does not describe (expected " + expected.dump() + ")"),
                   .hint = "describe the model with {layout} FILE.json"});
    }
    json layout = ConfigValues(config, where).filled(each["layout"]);
    rename_rope_type(layout);
    return layout.dump();
  }
  return std::nullopt;
}

std::vector<std::string> shipped_layout_types() {
  std::vector<std::string> types;
  for (const std::string_view text : shipped_layout_texts()) {
    const json each = json::parse(text);
    for (const json& type : each["model_types"]) types.push_back(type.get<std::string>());
  }
  return types;
}

}  // namespace attnscope
