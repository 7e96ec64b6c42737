#include "attnscope/cli/help.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"

namespace attnscope {
namespace {

constexpr std::size_t kColumn = 30;  // column where descriptions begin
constexpr std::size_t kWidth = 100;

/// A name and its description, wrapped within its own column.
std::string entry(const std::string& name, const std::string& description) {
  std::string out = "  " + name;
  std::size_t column = out.size();
  const auto go_to_description = [&] {
    out += std::string(kColumn - column, ' ');
    column = kColumn;
  };
  if (column + 2 > kColumn) {
    out += '\n';
    column = 0;
  }
  go_to_description();
  for (const std::string& word : split(description, ' ')) {
    const bool first = column == kColumn;
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
      go_to_description();
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string positionals_of(const Command& command) {
  std::string words;
  for (const Parameter& parameter : command.parameters) {
    if (!parameter.positional) continue;
    const bool several =
        parameter.type == ParameterType::models || parameter.type == ParameterType::text;
    // "BASE FINETUNED" names each of them.
    const bool each_named = parameter.metavariable.find(' ') != std::string::npos;
    const std::string dots = several && !each_named ? "..." : "";
    const bool needed = !parameter.missing.empty() && parameter.not_needed_with.empty();
    words +=
        needed ? " " + parameter.metavariable + dots : " [" + parameter.metavariable + dots + "]";
  }
  return words;
}

constexpr const char* kOwnOptions = "Options";
constexpr std::array kGroups = {
    std::pair{OptionGroup::mode, "Modes (choose one)"}, std::pair{OptionGroup::own, kOwnOptions},
    std::pair{OptionGroup::input, "Input"}, std::pair{OptionGroup::output, "Output"},
    std::pair{OptionGroup::performance, "Performance"}};

constexpr const char* kHelpFlag = "-h, --help";
constexpr const char* kHelpText = "print this help";

}  // namespace

std::string summary_text(const Command& command) {
  return spell_parameters(command.summary, spelling(command));
}

std::string help_of(const Command& command, const Parameter& parameter) {
  return spell_parameters(full_help(parameter), spelling(command));
}

std::vector<HelpGroup> help_groups(const Command& command) {
  std::vector<HelpGroup> groups;
  for (const auto& [group, heading] : kGroups) {
    HelpGroup found{.heading = heading, .options = {}};
    for (const Parameter& parameter : command.parameters) {
      if (!parameter.positional && parameter.group == group) found.options.push_back(&parameter);
    }
    if (!found.options.empty() || group == OptionGroup::own) groups.push_back(std::move(found));
  }
  return groups;
}

std::string program_help() {
  std::string out = fmt::format("{}\nUsage: attnscope COMMAND [OPTIONS]\n\n", kProgramSummary);
  out += "Options:\n" + entry("--version", "print the version") + entry(kHelpFlag, kHelpText);
  out += "\nCommands:\n";
  for (const Command& command : all_commands()) out += entry(command.name, summary_text(command));
  out += "\nHelp for one command: attnscope spectrum --help\n";
  return out;
}

std::string command_help(const Command& command) {
  const auto entry_of = [&](const Parameter& parameter) {
    return entry(usage_of(parameter), help_of(command, parameter));
  };
  std::string positional;
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional) positional += entry_of(parameter);
  }
  std::string out = fmt::format("{}\nUsage: attnscope {}{} [OPTIONS]\n", summary_text(command),
                                command.name, positionals_of(command));
  if (!positional.empty()) out += "\n" + positional;
  for (const HelpGroup& group : help_groups(command)) {
    out += "\n" + group.heading + ":\n";
    for (const Parameter* option : group.options) out += entry_of(*option);
    if (group.heading == kOwnOptions) out += entry(kHelpFlag, kHelpText);
  }
  out += "\nExamples:\n";
  for (const Example& example : command.examples) {
    out += "  " + example_line(command, example) + "\n";
  }
  return out;
}

}  // namespace attnscope
