#include <fmt/format.h>

#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"
#include "attnscope/cli/help.h"

namespace attnscope {
namespace {

/// Escapes a line so that roff prints it as plain text: no request at its start, no escapes, dashes
/// that can be copied.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string section_of(const Command& command) {
  std::string out =
      fmt::format(".SH ATTNSCOPE {}\n{}\n", command.name, roff(summary_text(command)));
  const auto add = [&](const Parameter& parameter) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(usage_of(parameter)),
                       roff(help_of(command, parameter)));
  };
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional) add(parameter);
  }
  for (const HelpGroup& group : help_groups(command)) {
    if (!group.options.empty()) out += fmt::format(".SS {}\n", group.heading);
    for (const Parameter* option : group.options) add(*option);
  }
  out += ".PP\n.nf\nExamples:\n";
  for (const Example& example : command.examples) {
    out += roff("  " + example_line(command, example)) + "\n";
  }
  return out + ".fi\n";
}

}  // namespace

std::string manual_page() {
  std::string out = fmt::format(
      ".TH ATTNSCOPE 1 \"\" \"attnscope {}\" \"User Commands\"\n"
      ".SH NAME\nattnscope \\- analyze the attention of transformer checkpoints\n"
      ".SH SYNOPSIS\n.B attnscope\nCOMMAND MODEL... [options]\n"
      ".SH DESCRIPTION\n{}\nMODEL is a folder with config.json and weights, or a weights file "
      "next to its config.json. Results go to standard output, messages to standard error.\n",
      ATTNSCOPE_VERSION, roff(kProgramSummary));
  for (const Command& command : all_commands()) out += section_of(command);
  return out +
         ".SH EXIT STATUS\n0 success; 2 usage error; 3 I/O error; 4 invalid file; 5 unsupported; 6 "
         "numerical error; "
         "128 + N if stopped by signal N.\n";
}

}  // namespace attnscope
