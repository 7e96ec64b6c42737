#include "attnscope/features/framework/command.h"

namespace attnscope {

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

const Parameter* find_parameter(const Command& command, std::string_view name) {
  for (const Parameter& parameter : command.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace attnscope
