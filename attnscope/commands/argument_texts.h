// Arguments as texts: how front ends are given them, and how a command line is written.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/commands/arguments.h"

namespace attnscope {

struct Command;

/// Parameters in the order of a command line, each with the text of its value; empty for a flag.
/// `models` stands there once for each model.
using ArgumentTexts = std::vector<std::pair<std::string, std::string>>;

/// Adds the value that a text stands for; models join those that were given before. Throws
/// Error(usage), also where another parameter with a value was given before.
void add_value(std::map<std::string, ParameterValue>& given, const Parameter& parameter,
               const std::string& text);

/// The arguments that such texts stand for. Throws Error(usage).
Arguments arguments_of(const Command& command, const ArgumentTexts& given);

/// The texts that stand for those of the arguments that were given, in the order of `names`.
ArgumentTexts texts_of(const Arguments& arguments, std::span<const std::string_view> names);

}  // namespace attnscope
