// `explain`: describes a field, or lists what fits the words of a query.
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/own_commands.h"
#include "attnscope/cli/search.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/rows/explain.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/sink.h"

namespace attnscope {
namespace {

using enum ParameterType;

void write_hits(const SearchResult& found, std::ostream& out) {
  if (!found.unknown.empty())
    out << "no entry for: " << join(found.unknown, ", ") << ". Entries for the other words:\n";
  else if (!found.complete)
    out << "no entry has all of these words. The closest ones:\n";
  for (const SearchHit& hit : found.hits) out << hit.name << "\n  " << hit.meaning << '\n';
}

void write_hits_json(const SearchResult& found, std::ostream& out) {
  using nlohmann::ordered_json;
  ordered_json matches = ordered_json::array();
  for (const SearchHit& hit : found.hits)
    matches.push_back({{"name", hit.name}, {"meaning", hit.meaning}});
  out << ordered_json{{"schema", kSchema},
                      {"unknown", found.unknown},
                      {"complete", found.complete},
                      {"matches", matches}}
             .dump(1)
      << '\n';
}

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

/// What the glossary has under the name of a field: "predict MODEL --perplexity".
std::vector<SearchHit> terms_of(std::string_view field) {
  std::vector<SearchHit> terms = search_help(field).hits;
  std::erase_if(terms, [&](const SearchHit& hit) {
    return !hit.is_term || !hit.is_exact || hit.field == field;
  });
  return terms;
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
    const SearchResult found = search_help(field);
    if (!found.hits.empty()) return json ? write_hits_json(found, out) : write_hits(found, out);
  }
  if (json) return write_explanation_json(field, out);
  // People who type the name of an analysis look for its command.
  if (!field.empty()) write_hits({.hits = terms_of(field), .complete = true}, out);
  write_explanation(field, spelling(explain_command()), out);
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
                          "field of a report, or words to search for in commands, options, fields "
                          "and terms (default: list all fields)",
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
