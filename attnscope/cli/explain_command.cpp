#include <cctype>

#include "attnscope/cli/command_line.h"
#include "attnscope/cli/explain_search.h"
#include "attnscope/cli/own_commands.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/rows/explain.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum ParameterType;

/// "effective rank" is the field effective_rank, too.
std::string field_name(std::string text) {
  if (text.empty() || !find_fields(text).empty()) return text;
  std::string name = text;
  for (char& each : name) {
    if (each == ' ' || each == '-') each = '_';
    each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  return find_fields(name).empty() ? text : name;
}

void print_explanation(const Arguments& arguments, const Session&, std::ostream& out) {
  constexpr std::size_t kMostHits = 10;
  const std::string field = field_name(arguments.text("field"));
  const bool is_field = field.empty() || !find_fields(field).empty();
  const bool json = arguments.text("format") == "json";
  if (const auto hits = is_field ? std::vector<SearchHit>() : search_help(field, kMostHits);
      !hits.empty()) {
    return json ? write_hits_json(hits, out) : write_hits(hits, out);
  }
  if (arguments.flag("schema")) {
    out << json_schema_text();
  } else if (arguments.flag("families")) {
    out << family_table();
  } else if (json) {
    write_explanation_json(field, out);
  } else {
    write_explanation(field, spelling(explain_command()), out);
  }
}

}  // namespace

Command explain_command() {
  return {
      .name = "explain",
      .summary = "Explain a field, option or term",
      .examples = {{{"field", "energy_rank"}},
                   {{"field", "path patching"}},
                   {{"schema", ""}},
                   {{"families", ""}}},
      .parameters = {{.name = "field",
                      .type = text,
                      .help =
                          "field of a report, or words to search for (default: list all fields)",
                      .positional = true,
                      .metavariable = "TERM"},
                     {.name = "format",
                      .type = choice,
                      .group = OptionGroup::output,
                      .metavariable = "FORMAT",
                      .choices = {"table", "json"},
                      .default_text = "table",
                      .noun = "format"},
                     {.name = "schema",
                      .type = flag,
                      .group = OptionGroup::mode,
                      .help = "print the JSON Schema of all reports"},
                     {.name = "families",
                      .type = flag,
                      .group = OptionGroup::mode,
                      .help = "list the supported model families"}},
      .exclusions = {{"schema", {"field", "format", "families"}, "describes all fields"},
                     {"families", {"field", "format"}, "describes no field"}},
      .write = print_explanation};
}

}  // namespace attnscope
