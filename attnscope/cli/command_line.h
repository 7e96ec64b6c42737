// Flags of the command line, made from the descriptions of commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/commands/command.h"
#include "attnscope/core/error.h"

namespace attnscope {

/// Those of every front end, and those that only a command line has.
std::span<const Command> all_commands();

/// "--rope-offset" for "rope_offset".
std::string flag_of(std::string_view parameter);

/// How a command's parameters are spelled: as flags, or by the word that stands for them.
SpellParameter spelling(const Command& command);

/// "--layers LAYERS", "--quiet", "MODEL".
std::string usage_of(const Parameter& parameter);

/// "attnscope spectrum MODEL --per-head".
std::string command_line_of(const Command& command, const ArgumentTexts& arguments);
/// The same, and "> FILE" where a shell writes to one.
std::string example_line(const Command& command, const Example& example);

/// What the words after a command's name say; nothing where they ask for help. Throws Error(usage).
std::optional<Arguments> parse_words(const Command& command, std::span<const std::string> words);

}  // namespace attnscope
