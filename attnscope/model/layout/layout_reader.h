// A strict reader of one JSON object of a layout file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/model/config_keys.h"

namespace attnscope {

/// The JSON must outlive the reader. An absent or null field has no value. Throws Error(format)
/// that names file and place for a field of the wrong type, and for a field that no function read.
class LayoutFields {
 public:
  LayoutFields(const nlohmann::json& object, std::string_view file, std::string place = "");

  [[noreturn]] void fail(const std::string& problem) const;

  const nlohmann::json* find(const std::string& key);
  /// An integer from `least` to kMaxSize.
  std::optional<std::int64_t> number(const std::string& key, std::int64_t least = 1);
  std::int64_t required_number(const std::string& key);
  std::optional<double> positive(const std::string& key);
  std::optional<double> not_negative(const std::string& key);
  std::string text(const std::string& key, const std::string& fallback = "");
  std::string required_text(const std::string& key);
  bool flag(const std::string& key, bool fallback);
  std::optional<LayoutFields> object(const std::string& key);
  /// A list of projections, each at most once.
  std::vector<Role> roles(const std::string& key);

  template <class Enum>
  Enum choice(const std::string& key,
              const std::vector<std::pair<std::string_view, Enum>>& choices) {
    const std::string name = text(key, std::string(choices.front().first));
    std::vector<std::string> names;
    for (const auto& [known, value] : choices) {
      if (known == name) return value;
      names.emplace_back(known);
    }
    refuse_choice(key, name, names);
  }

  /// Throws for fields that no function above read. Call it last.
  void refuse_unknown() const;

 private:
  [[noreturn]] void refuse_choice(const std::string& key, const std::string& name,
                                  const std::vector<std::string>& names) const;

  const nlohmann::json* object_;
  std::string file_;
  std::string place_;  // path of the object in the file
  std::vector<std::string> known_;
};

/// Returns a number that the layout itself contains. Other architectures name a key of config.json
/// instead.
inline ConfigNumber constant(std::optional<double> value) { return {"", value}; }

/// Parses the name of a projection. Reports errors through `fields`.
Role parse_layout_role(const nlohmann::json& value, const LayoutFields& fields);

}  // namespace attnscope
