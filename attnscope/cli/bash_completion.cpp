#include <fmt/format.h>

#include "attnscope/checkpoint/model_folder.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

/// What to do for a value, as the function below reads it.
std::string bash_action(const Parameter& parameter) {
  switch (offer_of(parameter)) {
    case Offer::nothing: return "kind=nothing";
    case Offer::files: return "kind=files";
    case Offer::folders: return "kind=folders";
    case Offer::words: return "kind=words words=" + shell_quoted(join(parameter.choices, " "));
    case Offer::list: return "kind=list words=" + shell_quoted(join(parameter.choices, " "));
  }
  return "";
}

std::string flags_of(const Command& command) {
  std::vector<std::string> flags = {"--help"};
  for (const Parameter& parameter : command.parameters) {
    if (!parameter.positional) flags.push_back(flag_of(parameter.name));
  }
  return join(flags, " ");
}

/// For the command's own words, which are options where they begin with a dash.
std::string own_case(const Command& command) {
  std::string offered = "kind=nothing";
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional) offered = bash_action(parameter);
  }
  return fmt::format("    {}) {} flags={} ;;\n", command.name, offered,
                     shell_quoted(flags_of(command)));
}

/// One for each option that takes a value.
std::string value_cases(const Command& command) {
  std::string cases;
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional || parameter.type == ParameterType::flag) continue;
    const std::string start = command.name + " " + flag_of(parameter.name);
    // One that may stand without a value has it behind a `=` alone.
    const std::string pattern = parameter.implied_text.empty()
                                    ? shell_quoted(start) + "|" + shell_quoted(start + "=")
                                    : shell_quoted(start + "=");
    const std::string letter =
        parameter.letter == 0 ? "" : "|" + shell_quoted(command.name + " -" + parameter.letter);
    cases += fmt::format("    {}{}) {} ;;\n", pattern, letter, bash_action(parameter));
  }
  return cases;
}

}  // namespace

std::string bash_completion() {
  std::vector<std::string> names;
  std::string own, values;
  for (const Command& command : all_commands()) {
    names.push_back(command.name);
    own += own_case(command);
    values += value_cases(command);
  }
  return fmt::format(
      R"(_attnscope() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} equals=
  local kind=nothing words= flags= prefix= choice
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  # --option=value comes as three words
  if [ "$word" = '=' ]; then
    word= equals='='
  elif [ "$before" = '=' ]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}} equals='='
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case "${{COMP_WORDS[1]}} $before$equals" in
{}    *)
      case $word in
        -*) kind=words words=$flags ;;
      esac ;;
  esac
  case $kind in
    words) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    list)
      case $word in
        *,*) prefix=${{word%,*}}, ;;
      esac
      for choice in $words; do
        case $prefix$choice in
          "$word"*) COMPREPLY+=("$prefix$choice") ;;
        esac
      done
      compopt -o nospace ;;
    files)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folders)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$word"
        for choice in {}; do compgen -f -X "!*$choice" -- "$word"; done) ;;
  esac
}}
complete -F _attnscope attnscope
)",
      join(names, " "), own, values, join(weight_endings(), " "));
}

}  // namespace attnscope
