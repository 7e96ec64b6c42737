#include <array>
#include <stdexcept>

#include "attnscope/commands/command.h"
#include "attnscope/core/error.h"

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

const Command* find_command(std::span<const Command> among, std::string_view name) {
  for (const Command& command : among) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

const Command& find_command_named(std::string_view name) {
  const Command* command = find_command(commands(), name);
  if (command == nullptr) throw std::out_of_range("no such command");
  return *command;
}

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

Arguments arguments_of(const Command& command, const Example& given) {
  std::map<std::string, ParameterValue> values;
  for (const auto& [name, text] : given) {
    const Parameter* parameter = find_parameter(command, name);
    if (parameter == nullptr) throw std::out_of_range("no such parameter");
    add_value(values, *parameter, text);
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
