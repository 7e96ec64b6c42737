#include <cctype>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/explain_search.h"
#include "attnscope/cli/own_commands.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/rows/explain.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::size_t kMostHits = 10;

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

/// Terms of the glossary that a field's name also stands for: "see also: predict MODEL
/// --perplexity".
void write_related(std::string_view field, std::ostream& out) {
  std::vector<std::string> related;
  for (const SearchHit& hit : search_help(field, kMostHits)) {
    if (hit.score > kExactScore && hit.name != field) related.push_back(hit.name);
  }
  if (!related.empty()) out << "see also: " << join(related, "; ") << '\n';
}

void print_explanation(const Arguments& arguments, const Session&, std::ostream& out) {
  const std::string field = field_name(arguments.text("field"));
  const bool json = arguments.text("format") == "json";
  if (arguments.flag("schema")) {
    out << json_schema_text();
    return;
  }
  if (arguments.flag("families")) {
    out << family_table();
    return;
  }
  if (!field.empty() && find_fields(field).empty()) {
    const std::vector<SearchHit> hits = search_help(field, kMostHits);
    if (!hits.empty()) return json ? write_hits_json(hits, out) : write_hits(hits, out);
  }
  if (json) return write_explanation_json(field, out);
  write_explanation(field, spelling(explain_command()), out);
  if (!field.empty()) write_related(field, out);
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
