#include <array>
#include <stdexcept>

#include "attnscope/commands/command.h"
#include "attnscope/core/error.h"
#include "attnscope/results/stack_rows.h"

namespace attnscope {

// Each in the file of its name.
Command ablate_command();
Command attention_command();
Command circuits_command();
Command diff_command();
Command experts_command();
Command export_command();
Command info_command();
Command lens_command();
Command matrix_command();
Command plan_command();
Command predict_command();
Command read_command();
Command report_command();
Command shrink_command();
Command similarity_command();
Command spectrum_command();
Command weights_command();

std::span<const Command> commands() {
  static const std::array all = {info_command(),       spectrum_command(), weights_command(),
                                 similarity_command(), experts_command(),  diff_command(),
                                 matrix_command(),     circuits_command(), attention_command(),
                                 predict_command(),    lens_command(),     ablate_command(),
                                 read_command(),       plan_command(),     shrink_command(),
                                 report_command(),     export_command()};
  return all;
}

void run_rows(const Command& command, const Arguments& arguments, const Session& session,
              RowSink& sink) {
  StackRows rows(sink);
  command.run(arguments, session, rows);
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

const Parameter* find_parameter(const Command& command, std::string_view name) {
  for (const Parameter& parameter : command.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace attnscope
