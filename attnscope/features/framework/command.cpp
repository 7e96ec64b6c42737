#include "attnscope/features/framework/command.h"

#include "attnscope/features/framework/rendered_chats.h"

namespace attnscope {

void run_rows(const Command& command, const Arguments& arguments, const Session& session,
              RowSink& sink) {
  check_chat_options(arguments);
  StackRows rows(sink);
  if (!arguments.given("chat")) return command.run(arguments, session, rows);
  Session recording = session;
  recording.chats = std::make_shared<RenderedChats>();
  ChatRows with_chats(rows, *recording.chats, arguments);
  command.run(arguments, recording, with_chats);
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
