// The help of the program and of each command.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/framework/command.h"

namespace attnscope {

inline constexpr const char* kProgramSummary =
    "attnscope analyzes the attention of transformer checkpoints.";

/// Options that stand together under a heading of help.
struct HelpGroup {
  std::string heading;
  std::vector<const Parameter*> options;
};

/// The options of a command by their groups, in the order of help. Only "Options" may be empty.
std::vector<HelpGroup> help_groups(const Command& command);

std::string program_help();
std::string command_help(const Command& command);

/// A command's summary, and a parameter's full help, with parameter names spelled as flags.
std::string summary_text(const Command& command);
std::string help_of(const Command& command, const Parameter& parameter);

}  // namespace attnscope
