// Flags of the command line, from the descriptions of commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// All commands: those of every front end, and those of the command line only.
std::span<const Command> all_commands();

/// "--rope-offset" for "rope_offset".
std::string flag_of(std::string_view parameter);

/// How a command's parameters are spelled: as flags, or by their placeholder in the usage.
SpellParameter spelling(const Command& command);

/// "--layers LAYERS", "--quiet", "MODEL".
std::string usage_of(const Parameter& parameter);

/// "attnscope spectrum MODEL --per-head".
std::string command_line_of(const Command& command, const ArgumentTexts& arguments);
/// The same, and "> FILE" where a shell writes to one.
std::string example_line(const Command& command, const Example& example);

/// Parses the words after a command's name; nothing if they ask for help. Throws Error(usage).
std::optional<Arguments> parse_words(const Command& command, std::span<const std::string> words);

}  // namespace attnscope
