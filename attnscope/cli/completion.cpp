#include "attnscope/cli/completion.h"

#include <array>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/checkpoint/weight_files.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/help.h"

namespace attnscope {
namespace {

struct Kind {
  const char* name;
  std::string (*make)();
};
constexpr std::array kKinds = {Kind{"bash", bash_completion}, Kind{"zsh", zsh_completion},
                               Kind{"fish", fish_completion}, Kind{"man", manual_page}};

void print_completion(const Arguments& arguments, const Session&, std::ostream& out) {
  for (const Kind& kind : kKinds) {
    if (kind.name == arguments.text("kind")) out << kind.make();
  }
}

}  // namespace

Command completion_command() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return {.name = "completion",
          .summary = "Print shell completions or the manual page",
          .examples = {Example({{"kind", "bash"}},
                               "~/.local/share/bash-completion/completions/attnscope"),
                       Example({{"kind", "fish"}}, "~/.config/fish/completions/attnscope.fish")},
          .parameters = {{.name = "kind",
                          .type = ParameterType::choice,
                          .positional = true,
                          .metavariable = "KIND",
                          .choices = names,
                          .missing = "missing; expected bash, zsh, fish or man"}},
          .write = print_completion};
}

Offer offer_of(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::models: return Offer::folders;
    case ParameterType::file: return Offer::files;
    default:
      if (parameter.choices.empty()) return Offer::nothing;
      return takes_list(parameter.type) ? Offer::list : Offer::words;
  }
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

namespace {

/// The action that completes a value, in the format that the shell function below reads.
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

/// The case for the words of a command; words that begin with a dash are options.
std::string own_case(const Command& command) {
  std::string offered = "kind=nothing";
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional) offered = bash_action(parameter);
  }
  return fmt::format("    {}) {} flags={} ;;\n", command.name, offered,
                     shell_quoted(flags_of(command)));
}

/// One case for each option that takes a value.
std::string value_cases(const Command& command) {
  std::string cases;
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional || parameter.type == ParameterType::flag) continue;
    const std::string start = command.name + " " + flag_of(parameter.name);
    // An option whose value may be omitted takes it only after a `=`.
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

namespace {

/// Text in single quotes, inside which fish interprets backslashes.
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
    // If no option precedes the word, files are offered by -F alone.
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
    lines +=
        fmt::format("complete -c attnscope -n '__attnscope_is {}' -l help -d 'print this help'\n",
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
complete -c attnscope -n __attnscope_is_first -l help -d 'print this help'
complete -c attnscope -n __attnscope_is_first -l version
)" + lines;
}

namespace {

/// `text` with the brackets and colons escaped that `_arguments` would interpret.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// ":MESSAGE:ACTION", as `_arguments` reads it.
std::string zsh_action(const Parameter& parameter) {
  const std::string message = fmt::format(":{}:", escaped(parameter.metavariable));
  switch (offer_of(parameter)) {
    case Offer::nothing: return message + " ";
    case Offer::files: return message + "_files";
    case Offer::folders: return message + "_files -g '*(" + join(weight_endings(), "|") + ")(-.)'";
    case Offer::words: return fmt::format("{}({})", message, join(parameter.choices, " "));
    case Offer::list: return message + "_sequence compadd - " + join(parameter.choices, " ");
  }
  return "";
}

std::string specification(const Command& command, const Parameter& parameter) {
  if (parameter.positional) {
    const bool several = parameter.type == ParameterType::models;
    return fmt::format("{}{}", several ? "*" : "1", zsh_action(parameter));
  }
  const std::string flag = flag_of(parameter.name);
  const std::string help = fmt::format("[{}]", escaped(help_of(command, parameter)));
  if (parameter.type == ParameterType::flag) return flag + help;
  // `=-`: the value is part of the same word. `::`: the value is optional.
  return parameter.implied_text.empty() ? flag + "=" + help + zsh_action(parameter)
                                        : flag + "=-" + help + ":" + zsh_action(parameter);
}

}  // namespace

std::string zsh_completion() {
  std::string names, cases;
  for (const Command& command : all_commands()) {
    names += "    " + shell_quoted(command.name + ":" + escaped(summary_text(command))) + "\n";
    cases += "    " + command.name + ")\n      _arguments \\\n";
    for (const Parameter& parameter : command.parameters) {
      cases += "        " + shell_quoted(specification(command, parameter)) + " \\\n";
    }
    cases += "        '--help[print this help]' ;;\n";
  }
  return fmt::format(R"(#compdef attnscope
_attnscope() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- --help --version
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = _attnscope ]; then
  _attnscope "$@"
else
  compdef _attnscope attnscope
fi
)",
                     names, cases);
}

}  // namespace attnscope
