// The arguments of one run of a command, by parameter name.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/features/framework/parameter.h"

namespace attnscope {

class Arguments {
 public:
  /// Holds `given`, and the default of every other parameter that has one. Throws Error(usage) for
  /// a parameter that excludes another given one, and for a missing required one.
  Arguments(std::span<const Parameter> parameters, std::span<const Exclusion> exclusions,
            std::map<std::string, ParameterValue> given);

  /// A copy with one value changed.
  Arguments with(const std::string& name, ParameterValue value) const;

  /// A copy as if none of these parameters were given. Only for parameters without a default.
  Arguments without(std::span<const std::string_view> names) const;

  /// Whether the parameter was given; a default does not count.
  bool given(std::string_view name) const;

  /// The given value, or null.
  const ParameterValue* find_given(std::string_view name) const;

  /// The given value or the default; null if there is neither.
  template <class T>
  const T* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &std::get<T>(found->second);
  }

  bool flag(std::string_view name) const { return find<bool>(name) != nullptr; }
  /// For texts, choices and files; empty if there is no value.
  std::string text(std::string_view name) const { return value_or_empty<std::string>(name); }
  std::optional<std::int64_t> integer(std::string_view name) const {
    const auto* value = find<std::int64_t>(name);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  std::vector<std::string> texts(std::string_view name) const {
    return value_or_empty<std::vector<std::string>>(name);
  }
  std::vector<Role> roles(std::string_view name) const {
    return value_or_empty<std::vector<Role>>(name);
  }
  std::vector<double> shares(std::string_view name) const {
    return value_or_empty<std::vector<double>>(name);
  }
  std::vector<HeadIndex> heads(std::string_view name) const {
    return value_or_empty<std::vector<HeadIndex>>(name);
  }
  /// All layers if none is named.
  LayerSelection layers(std::string_view name) const {
    return value_or_empty<LayerSelection>(name);
  }

 private:
  template <class T>
  T value_or_empty(std::string_view name) const {
    const T* value = find<T>(name);
    return value == nullptr ? T() : *value;
  }

  std::map<std::string, ParameterValue, std::less<>> values_;  // given, and defaults
  std::set<std::string, std::less<>> given_;
};

// Arguments as texts, as front ends receive them and as command lines are written.

struct Command;

/// Parameters in command-line order, each with its value as text; empty for a flag. A repeatable
/// parameter occurs once per value.
using ArgumentTexts = std::vector<std::pair<std::string, std::string>>;

/// Parses a text and adds its value; a value of a repeatable parameter is appended to earlier ones.
/// Throws Error(usage), also if another parameter was already given a value.
void add_value(std::map<std::string, ParameterValue>& given, const Parameter& parameter,
               const std::string& text);

/// Parses the texts into arguments. Throws Error(usage).
Arguments arguments_of(const Command& command, const ArgumentTexts& given);

/// Converts the given arguments back to texts, in the order of `names`.
ArgumentTexts texts_of(const Arguments& arguments, std::span<const std::string_view> names);

}  // namespace attnscope
