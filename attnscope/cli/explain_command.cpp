#include "attnscope/cli/own_commands.h"

#include "attnscope/cli/command_line.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/rows/explain.h"

namespace attnscope {
namespace {

using enum ParameterType;

void print_explanation(const Arguments& arguments, const Session&, std::ostream& out) {
  const std::string field = arguments.text("field");
  if (arguments.flag("schema")) {
    out << json_schema_text();
  } else if (arguments.flag("families")) {
    out << family_table();
  } else if (arguments.text("format") == "json") {
    write_explanation_json(field, out);
  } else {
    write_explanation(field, spelling(explain_command()), out);
  }
}

}  // namespace

Command explain_command() {
  return {.name = "explain",
          .summary = "what a field of a report means, or all of them",
          .examples = {{{"field", "energy_rank"}}, {{"schema", ""}}, {{"families", ""}}},
          .parameters = {{.name = "field",
                          .type = text,
                          .help = "a field of a report; none: all, a line each",
                          .positional = true,
                          .metavariable = "FIELD"},
                         {.name = "format",
                          .type = choice,
                          .metavariable = "FORMAT",
                          .choices = {"table", "json"},
                          .default_text = "table",
                          .noun = "format"},
                         {.name = "schema",
                          .type = flag,
                          .help = "instead: the JSON Schema of every report"},
                         {.name = "families",
                          .type = flag,
                          .help = "instead: the families of models that are known"}},
          .exclusions = {{"schema", {"field", "format", "families"}, "describes all fields"},
                         {"families", {"field", "format"}, "describes no field"}},
          .write = print_explanation};
}

}  // namespace attnscope
