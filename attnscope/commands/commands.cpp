#include <array>
#include <map>
#include <stdexcept>

#include "attnscope/commands/command.h"

namespace attnscope {

// Each in the file of its name.
Command attention_command();
Command circuits_command();
Command export_command();
Command info_command();
Command matrix_command();
Command predict_command();
Command report_command();
Command similarity_command();
Command spectrum_command();
Command weights_command();

std::span<const Command> commands() {
  static const std::array all = {info_command(),       spectrum_command(), weights_command(),
                                 similarity_command(), matrix_command(),   circuits_command(),
                                 attention_command(),  predict_command(),  report_command(),
                                 export_command()};
  return all;
}

const Command& find_command_named(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return command;
  }
  throw std::out_of_range("no such command");
}

Arguments arguments_of(const Command& command, const Example& given) {
  std::map<std::string, ParameterValue> values;
  for (const auto& [name, text] : given) {
    const Parameter* parameter = find_parameter(command, name);
    if (parameter == nullptr) throw std::out_of_range("no such parameter");
    ParameterValue value = value_from_text(*parameter, text);
    const auto [found, fresh] = values.emplace(name, value);
    if (fresh || parameter->type != ParameterType::models) continue;
    auto& all = std::get<std::vector<std::string>>(found->second);
    for (std::string& path : std::get<std::vector<std::string>>(value)) {
      all.push_back(std::move(path));
    }
  }
  return Arguments(command.parameters, command.exclusions, std::move(values));
}

const Parameter* find_parameter(const Command& command, std::string_view name) {
  for (const Parameter& parameter : command.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace attnscope
