#include "attnscope/features/framework/arguments.h"

#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/features/framework/parameter_values.h"

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

namespace {

/// Adds a value in the form that value_from_text() accepts.
struct AddText {
  void operator()(bool) const { add(""); }
  void operator()(std::int64_t number) const { add(std::to_string(number)); }
  void operator()(std::uint64_t bytes) const { add(std::to_string(bytes) + "B"); }
  void operator()(const std::string& text) const { add(text); }
  void operator()(Role role) const { add(std::string(role_name(role))); }
  void operator()(const std::vector<Role>& roles) const {
    add_list(roles, [](Role role) { return std::string(role_name(role)); });
  }
  void operator()(const LayerSelection& layers) const {
    add_list(layers.ranges, [](const LayerRange& range) { return range.text(); });
  }
  void operator()(const HeadIndex& place) const { add(head_text(place)); }
  void operator()(const std::vector<HeadIndex>& places) const { add(heads_text(places)); }
  void operator()(const std::vector<HeadInput>& receivers) const {
    add_list(receivers, receiver_text);
  }
  void operator()(const std::vector<double>& shares) const { add_list(shares, shortest_decimal); }
  void operator()(const std::vector<Rank>& ranks) const {
    add_list(ranks, [](const Rank& rank) { return rank.text(); });
  }
  void operator()(const BinCount& count) const {
    add(count.freedman_diaconis ? "fd" : std::to_string(count.bins));
  }
  void operator()(const ValueRange& range) const {
    add(shortest_decimal(range.low) + "," + shortest_decimal(range.high));
  }
  void operator()(const std::vector<std::string>& all) const {
    for (const std::string& each : all) add(each);
  }

  void add(std::string text) const { texts.emplace_back(name, std::move(text)); }
  template <class Values, class Text>
  void add_list(const Values& values, const Text& text_of) const {
    std::vector<std::string> list;
    for (const auto& value : values) list.push_back(text_of(value));
    add(join(list, ","));
  }

  std::string_view name;
  ArgumentTexts& texts;
};

}  // namespace

void add_value(std::map<std::string, ParameterValue>& given, const Parameter& parameter,
               const std::string& text) {
  ParameterValue value = value_from_text(parameter, text);
  const auto [found, fresh] = given.emplace(parameter.name, value);
  if (fresh || parameter.type == ParameterType::flag) return;
  if (!is_repeatable(parameter.type)) {
    throw Error(ErrorKind::usage,
                {.parameter = parameter.name, .problem = "given twice, expected once"});
  }
  auto& all = std::get<std::vector<std::string>>(found->second);
  for (std::string& each : std::get<std::vector<std::string>>(value)) {
    all.push_back(std::move(each));
  }
}

Arguments arguments_of(const Command& command, const ArgumentTexts& given) {
  std::map<std::string, ParameterValue> values;
  for (const auto& [name, text] : given) {
    const Parameter* parameter = find_parameter(command, name);
    if (parameter == nullptr) throw std::out_of_range("no such parameter");
    add_value(values, *parameter, text);
  }
  return Arguments(command.parameters, command.exclusions, std::move(values));
}

ArgumentTexts texts_of(const Arguments& arguments, std::span<const std::string_view> names) {
  ArgumentTexts texts;
  for (const std::string_view name : names) {
    const ParameterValue* value = arguments.find_given(name);
    if (value != nullptr) std::visit(AddText{name, texts}, *value);
  }
  return texts;
}

}  // namespace attnscope
