// The values that one run of a command was given, by the names of its parameters.
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
  /// `given`, and the default of every parameter that has one and was not given. Throws
  /// Error(usage) for a parameter that has no meaning beside another one, and for one that is
  /// needed and missing.
  Arguments(std::span<const Parameter> parameters, std::span<const Exclusion> exclusions,
            std::map<std::string, ParameterValue> given);

  /// The same, but for one value.
  Arguments with(const std::string& name, ParameterValue value) const;

  /// The same, as if none of these were given. For those that have no default.
  Arguments without(std::span<const std::string_view> names) const;

  /// Whether it was given; a default does not count.
  bool given(std::string_view name) const;

  /// Its value where it was given, else null.
  const ParameterValue* find_given(std::string_view name) const;

  /// The value given, else the default; null where there is neither.
  template <class T>
  const T* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &std::get<T>(found->second);
  }

  bool flag(std::string_view name) const { return find<bool>(name) != nullptr; }
  /// Of texts, choices and files; empty where there is none.
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
  /// Every layer where none is named.
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

// Arguments as texts: how front ends are given them, and how a command line is written.

struct Command;

/// Parameters in the order of a command line, each with the text of its value; empty for a flag.
/// `models` stands there once for each model.
using ArgumentTexts = std::vector<std::pair<std::string, std::string>>;

/// Adds the value that a text stands for; models join those that were given before. Throws
/// Error(usage), also where another parameter with a value was given before.
void add_value(std::map<std::string, ParameterValue>& given, const Parameter& parameter,
               const std::string& text);

/// The arguments that such texts stand for. Throws Error(usage).
Arguments arguments_of(const Command& command, const ArgumentTexts& given);

/// The texts that stand for those of the arguments that were given, in the order of `names`.
ArgumentTexts texts_of(const Arguments& arguments, std::span<const std::string_view> names);

}  // namespace attnscope
