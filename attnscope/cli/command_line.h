// Command-line flags, generated from the descriptions of commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// All commands: those shared by every front end, and those of the command line only.
std::span<const Command> all_commands();

/// "--rope-offset" for "rope_offset".
std::string flag_of(std::string_view parameter);

/// Spells a command's parameters as flags, or by their placeholders in the usage line.
SpellParameter spelling(const Command& command);

/// "--layers LAYERS", "--quiet", "MODEL".
std::string usage_of(const Parameter& parameter);

/// "attnscope spectrum MODEL --per-head".
std::string command_line_of(const Command& command, const ArgumentTexts& arguments);
/// The same, followed by "> FILE" if the example redirects its output.
std::string example_line(const Command& command, const Example& example);

/// Parses the words after a command's name. Returns nothing if they ask for help. Throws
/// Error(usage).
std::optional<Arguments> parse_words(const Command& command, std::span<const std::string> words);

}  // namespace attnscope
