#include "attnscope/commands/arguments.h"

#include "attnscope/core/error.h"

namespace attnscope {

Arguments::Arguments(std::span<const Parameter> parameters, std::span<const Exclusion> exclusions,
                     std::map<std::string, ParameterValue> given) {
  for (auto& [name, value] : given) {
    given_.insert(name);
    values_.emplace(name, std::move(value));
  }
  for (const auto& [parameter, beside, reason] : exclusions) {
    if (!this->given(parameter)) continue;
    std::vector<std::string> idle;
    for (const std::string& other : beside) {
      if (this->given(other)) idle.push_back(other);
    }
    if (idle.empty()) continue;
    throw Error(ErrorKind::usage,
                {.parameter = parameter, .problem = reason, .beside = std::move(idle)});
  }
  for (const Parameter& parameter : parameters) {
    if (this->given(parameter.name)) continue;
    if (!parameter.missing.empty() && !this->given(parameter.not_needed_with)) {
      throw Error(ErrorKind::usage, {.parameter = parameter.name,
                                     .problem = parameter.missing,
                                     .hint = parameter.missing_hint});
    }
    if (parameter.default_text.empty()) continue;
    values_.emplace(parameter.name, value_from_text(parameter, parameter.default_text));
  }
}

Arguments Arguments::with(const std::string& name, ParameterValue value) const {
  Arguments other = *this;
  other.given_.insert(name);
  other.values_.insert_or_assign(name, std::move(value));
  return other;
}

Arguments Arguments::without(std::span<const std::string_view> names) const {
  Arguments other = *this;
  for (const std::string_view name : names) {
    if (const auto found = other.given_.find(name); found != other.given_.end()) {
      other.given_.erase(found);
      other.values_.erase(other.values_.find(name));
    }
  }
  return other;
}

const ParameterValue* Arguments::find_given(std::string_view name) const {
  return given(name) ? &values_.find(name)->second : nullptr;
}

bool Arguments::given(std::string_view name) const { return given_.count(name) > 0; }

}  // namespace attnscope
