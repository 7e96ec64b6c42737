#include <array>

#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"

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
          .summary = "completions for a shell, or the manual page",
          .examples = {Example({{"kind", "bash"}},
                               "~/.local/share/bash-completion/completions/attnscope"),
                       Example({{"kind", "fish"}}, "~/.config/fish/completions/attnscope.fish")},
          .parameters = {{.name = "kind",
                          .type = ParameterType::choice,
                          .positional = true,
                          .metavariable = "KIND",
                          .choices = names,
                          .missing = "takes one of bash, zsh, fish, man"}},
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

}  // namespace attnscope
