#include <fmt/format.h>

#include "attnscope/checkpoint/model_folder.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"
#include "attnscope/cli/help.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

/// In single quotes, where fish reads backslashes.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_action(const Parameter& parameter) {
  switch (offer_of(parameter)) {
    case Offer::nothing: return "-x";
    case Offer::files: return "-r -F";
    case Offer::folders: return "-x -a '(__attnscope_models)'";
    case Offer::words: return "-x -a '" + join(parameter.choices, " ") + "'";
    case Offer::list: return "-x -a '(__attnscope_list " + join(parameter.choices, " ") + ")'";
  }
  return "";
}

std::string line_of(const Command& command, const Parameter& parameter) {
  const std::string start =
      fmt::format("complete -c attnscope -n '__attnscope_is {}'", command.name);
  if (parameter.positional) {
    // Without an option in front of it, a file is offered by -F alone.
    const bool files = offer_of(parameter) == Offer::files;
    return start + " " + (files ? "-F" : fish_action(parameter)) + "\n";
  }
  const std::string letter = parameter.letter == 0 ? "" : fmt::format("-s {} ", parameter.letter);
  return fmt::format("{} {}-l {} {} -d {}\n", start, letter, flag_of(parameter.name).substr(2),
                     parameter.type == ParameterType::flag ? "" : fish_action(parameter),
                     fish_quoted(help_of(command, parameter)));
}

}  // namespace

std::string fish_completion() {
  std::string lines;
  for (const Command& command : all_commands()) {
    lines += fmt::format("complete -c attnscope -n __attnscope_is_first -a {} -d {}\n",
                         command.name, fish_quoted(summary_text(command)));
    for (const Parameter& parameter : command.parameters) lines += line_of(command, parameter);
    lines += fmt::format("complete -c attnscope -n '__attnscope_is {}' -l help -d 'this text'\n",
                         command.name);
  }
  std::string models;
  for (const std::string& ending : weight_endings()) {
    models +=
        "    __fish_complete_suffix " + ending + " | string match -e -r '\\" + ending + "$'\n";
  }
  return R"(function __attnscope_is_first
    test (count (commandline -opc)) -eq 1
end
function __attnscope_is
    set -l words (commandline -opc)
    test (count $words) -gt 1 -a "$words[2]" = $argv[1]
end
# The last part of a list, behind what is there of it.
function __attnscope_list
    set -l word (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before (string match -r '^.*,' -- $word)
    for choice in $argv
        echo "$before$choice"
    end
end
function __attnscope_models
    __fish_complete_directories (commandline -ct) ''
)" + models +
         R"(end
complete -c attnscope -f
complete -c attnscope -n __attnscope_is_first -l help -d 'this text'
complete -c attnscope -n __attnscope_is_first -l version
)" + lines;
}

}  // namespace attnscope
