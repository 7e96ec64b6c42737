#include <fmt/format.h>

#include "attnscope/cli/command_line.h"
#include "attnscope/cli/completion.h"
#include "attnscope/cli/help.h"

namespace attnscope {
namespace {

/// A line that roff takes as text: no request at its start, no escapes, dashes that can be copied.
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
  for (const Parameter& parameter : command.parameters) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(usage_of(parameter)),
                       roff(help_of(command, parameter)));
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
      ".SH NAME\nattnscope \\- says what the attention of a transformer checkpoint does\n"
      ".SH SYNOPSIS\n.B attnscope\nCOMMAND MODEL... [options]\n"
      ".SH DESCRIPTION\n{}\nMODEL is a folder with config.json and weights, or a weights file "
      "beside its config.json. Data goes to standard output, everything else to standard error.\n",
      ATTNSCOPE_VERSION, roff(kProgramSummary));
  for (const Command& command : all_commands()) out += section_of(command);
  return out +
         ".SH EXIT STATUS\n0 done; 2 usage; 3 I/O; 4 bad file; 5 unsupported; 6 numerical; 128 + N "
         "where signal N asked it to stop.\n";
}

}  // namespace attnscope
