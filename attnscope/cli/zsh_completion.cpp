#include <fmt/format.h>

#include "attnscope/checkpoint/model_folder.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"
#include "attnscope/cli/help.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

/// `text` where `_arguments` gives brackets and colons a meaning.
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
  // `=-`: the value stands in the same word; `::`: there may be none.
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
    cases += "        '--help[this text]' ;;\n";
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
