#include "attnscope/commands/argument_texts.h"

#include <stdexcept>

#include "attnscope/commands/command.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

/// Adds a value as value_from_text() reads it.
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
  void operator()(const HeadPlace& place) const {
    add(std::to_string(place.layer) + "," + std::to_string(place.head));
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
  void operator()(const std::vector<std::string>& models) const {
    for (const std::string& model : models) add(model);
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
  if (parameter.type != ParameterType::models) {
    throw Error(ErrorKind::usage, {.parameter = parameter.name, .problem = "is given twice"});
  }
  auto& all = std::get<std::vector<std::string>>(found->second);
  for (std::string& path : std::get<std::vector<std::string>>(value)) {
    all.push_back(std::move(path));
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
