// Shell completions and the manual page, made from the commands' own declarations so that they
// cannot disagree with them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "attnscope/cli/command.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) { return app.get_subcommands({}); }

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(),
                         join(long_options(*command), " "));
  }
  return fmt::format(
      R"(_attnscope() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _attnscope attnscope
)",
      join(commands, " "), cases);
}

/// zsh runs bash's completions.
std::string zsh_script(const CLI::App& app) {
  return "#compdef attnscope\nautoload -Uz bashcompinit && bashcompinit\n" + bash_script(app);
}

/// `text` inside single quotes, which fish and the manual's roff read plainly.
std::string without_quotes(std::string text) {
  std::erase(text, '\'');
  return text;
}

std::string fish_script(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format("complete -c attnscope -n __fish_use_subcommand -a {} -d '{}'\n",
                       command->get_name(), without_quotes(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        out +=
            fmt::format("complete -c attnscope -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n",
                        command->get_name(), name, without_quotes(option->get_description()));
      }
    }
  }
  return out;
}

/// A line that roff takes as text: no request at its start, no escapes, dashes that can be copied.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string manual_page(const CLI::App& app) {
  std::string out = fmt::format(
      ".TH ATTNSCOPE 1 \"\" \"attnscope {}\" \"User Commands\"\n"
      ".SH NAME\nattnscope \\- {}\n"
      ".SH SYNOPSIS\n.B attnscope\nCOMMAND MODEL... [options]\n"
      ".SH DESCRIPTION\n{}\nMODEL is a folder with config.json and weights, or a weights file "
      "beside "
      "its config.json. Data goes to standard output, everything else to standard error.\n",
      ATTNSCOPE_VERSION, "says what the attention of a transformer checkpoint does",
      roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format(".SH ATTNSCOPE {}\n{}\n", command->get_name(),
                       roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      out += fmt::format(
          ".TP\n.B {}\n{}\n",
          roff("--" + option->get_lnames().front() +
               (option->get_items_expected_min() > 0 ? " " + option->get_type_name() : "")),
          roff(option->get_description()));
    }
    out += ".PP\n.nf\n";
    for (const std::string& line : split(command->get_footer(), '\n')) out += roff(line) + "\n";
    out += ".fi\n";
  }
  return out +
         ".SH EXIT STATUS\n0 done; 2 usage; 3 I/O; 4 bad file; 5 unsupported; 6 numerical; 130 "
         "interrupted.\n";
}

struct Kind {
  std::string_view name;
  std::string (*make)(const CLI::App&);
};
constexpr std::array kKinds = {Kind{"bash", bash_script}, Kind{"fish", fish_script},
                               Kind{"man", manual_page}, Kind{"zsh", zsh_script}};

int run(const CLI::App& app, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    if (kind.name == wanted) {
      OutputTarget().write([&](std::ostream& out) { out << kind.make(app); });
      return 0;
    }
    names.emplace_back(kind.name);
  }
  throw Error(ErrorKind::usage, "completion", "takes one of " + join(names));
}

}  // namespace

std::function<int()> set_up_completion(CLI::App& app) {
  const auto kind = std::make_shared<std::string>();
  app.add_option("KIND", *kind, "bash, zsh, fish or man")->type_name("");
  return [kind, &app] { return run(*app.get_parent(), *kind); };
}

}  // namespace attnscope
