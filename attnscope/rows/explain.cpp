#include "attnscope/rows/explain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "attnscope/base/text.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/sink.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

// How to request fields that depend on a parameter of a report.

/// Describes the input that sets a report parameter without a command-line option: "a text" for
/// `tokens_hash`. Empty if the command has an option of that name.
std::string_view asked_in_words(std::string_view command, std::string_view parameter);

struct Asked {
  std::string_view command;  // empty: any
  std::string_view parameter;
  std::string_view words;
};

constexpr std::array<Asked, 5> kAsked = {{
    {"", "tokens_hash", "a text"},
    {"experts", "source", "a text"},
    {"plan", "target", "a method and a target"},
    {"predict", "input", "an image or audio"},
    {"predict", "labels", "a classifier"},
}};

std::string_view asked_in_words(std::string_view command, std::string_view parameter) {
  for (const Asked& asked : kAsked) {
    const bool same = asked.command.empty() || asked.command == command;
    if (same && asked.parameter == parameter) return asked.words;
  }
  return "";
}

/// Indexed by the enumerators of FieldType, FieldForm and Nulls. Stable, because JSON output
/// contains them.
constexpr const char* kTypes[] = {"text", "integer", "number", "flag", "record"};
constexpr const char* kForms[] = {"single",       "list",    "matrix",
                                  "by_threshold", "by_rank", "by_fraction"};
constexpr const char* kNulls[] = {"none", "whole", "entries"};

template <class Enumerator, std::size_t count>
const char* name_of(Enumerator value, const char* const (&names)[count]) {
  return names[static_cast<std::size_t>(value)];
}

/// "number", "list of integers", "map of integers by threshold", …
std::string type_text(const Field& field) {
  const std::string type = name_of(field.type, kTypes);
  const std::string many = field.type == FieldType::text ? "texts" : type + "s";
  switch (field.form) {
    case FieldForm::single: return type;
    case FieldForm::list: return "list of " + many;
    case FieldForm::matrix: return "matrix of " + many;
    case FieldForm::by_threshold: return "map of " + many + " by threshold";
    case FieldForm::by_rank: return "map of " + many + " by rank";
    case FieldForm::by_fraction: return "map of " + many + " by fraction";
  }
  return type;
}

/// "rows of spectrum --mla", "rows of experts with a text", "parameters of weights", "models of
/// every report".
std::string part_text(const FieldLocation& location, const SpellParameter& spell) {
  std::string text = std::string(location.part) + " of ";
  if (location.kind == nullptr) return text + "every report";
  text += location.kind->command;
  if (location.kind->option.empty()) return text;
  const std::string_view words = asked_in_words(location.kind->command, location.kind->option);
  return text +
         (words.empty() ? " " + spell(location.kind->option) : " with " + std::string(words));
}

/// The same, preceded by the record: "kv in rows of spectrum --mla".
std::string place_text(const FieldLocation& location, const SpellParameter& spell) {
  const std::size_t dot = location.path.rfind('.');
  const std::string record = dot == std::string::npos ? "" : location.path.substr(0, dot) + " in ";
  return record + part_text(location, spell);
}

std::vector<FieldLocation> places_of(std::string_view name) {
  if (name.empty()) return field_locations();
  std::vector<FieldLocation> found = find_fields(name);
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const FieldLocation& location : field_locations()) names.emplace_back(location.field->name);
  throw Error(ErrorKind::usage,
              ErrorParts{.place = std::string(name),
                         .problem = "no command, option, field or term has this name" +
                                    suggestion(name, names),
                         .hint = "see attnscope --help for the commands"});
}

/// Writes a description once, with all places where it applies.
void write_field(const std::vector<FieldLocation>& places, const SpellParameter& spell,
                 std::ostream& out) {
  const Field& field = *places.front().field;
  std::vector<std::string> details = {type_text(field)};
  if (!field.unit.empty()) details.emplace_back(field.unit);
  if (!field.with.empty()) {
    const RowKind* kind = places.front().kind;
    const std::string_view words = asked_in_words(kind == nullptr ? "" : kind->command, field.with);
    details.push_back("only with " + (words.empty() ? spell(field.with) : std::string(words)));
  }
  if (field.nulls == Nulls::whole) details.emplace_back("may be null");
  if (field.nulls == Nulls::entries) details.emplace_back("entries may be null");
  out << field.name << ": " << join(details, "; ") << '\n';
  out << "  " << field.meaning << '\n';
  if (!field.choices.empty()) {
    const std::vector<std::string> choices(field.choices.begin(), field.choices.end());
    out << (field.type == FieldType::text ? "  one of: " : "  or: ") << join(choices) << '\n';
  }
  std::vector<std::string> texts;
  for (const FieldLocation& location : places) texts.push_back(place_text(location, spell));
  out << "  in: " << join(texts) << '\n';
  out << "  see: docs/" << field.where << '\n';
}

bool same_description(const FieldLocation& a, const FieldLocation& b) {
  const auto parts = [](const FieldLocation& location) {
    const Field& field = *location.field;
    return std::tuple(field.name, field.type, field.form, field.nulls, field.unit, field.meaning,
                      field.where, field.with);
  };
  return parts(a) == parts(b);
}

void write_all(const SpellParameter& spell, std::ostream& out) {
  std::vector<std::vector<std::string>> lines;
  std::string section;
  const auto flush = [&] {
    if (lines.empty()) return;
    out << section << '\n' << align(lines, /*left_columns=*/2) << '\n';
    lines.clear();
  };
  for (const FieldLocation& location : field_locations()) {
    const std::string own = part_text(location, spell);
    if (own != section) flush();
    section = own;
    lines.push_back({"  " + location.path, std::string(location.field->meaning)});
  }
  flush();
}

}  // namespace

void write_explanation(std::string_view name, const SpellParameter& spell, std::ostream& out) {
  if (name.empty()) return write_all(spell, out);
  std::vector<std::vector<FieldLocation>> descriptions;
  for (const FieldLocation& location : places_of(name)) {
    const auto known = std::find_if(
        descriptions.begin(), descriptions.end(),
        [&](const auto& places) { return same_description(places.front(), location); });
    if (known == descriptions.end()) {
      descriptions.push_back({location});
    } else {
      known->push_back(location);
    }
  }
  for (std::size_t at = 0; at < descriptions.size(); ++at) {
    if (at > 0) out << '\n';
    write_field(descriptions[at], spell, out);
  }
}

void write_explanation_json(std::string_view name, std::ostream& out) {
  using nlohmann::ordered_json;
  const auto text = [](std::string_view words) {
    return words.empty() ? ordered_json() : ordered_json(words);
  };
  out << "{\"schema\": \"" << kSchema << "\",\n\"fields\": [";
  const char* separator = "\n";
  for (const FieldLocation& location : places_of(name)) {
    const Field& field = *location.field;
    const RowKind none;
    const RowKind& kind = location.kind == nullptr ? none : *location.kind;
    const ordered_json entry = {{"kind", text(kind.name)},
                                {"command", text(kind.command)},
                                {"option", text(kind.option)},
                                {"asked", text(asked_in_words(kind.command, kind.option))},
                                {"part", location.part},
                                {"path", location.path},
                                {"name", field.name},
                                {"type", name_of(field.type, kTypes)},
                                {"form", name_of(field.form, kForms)},
                                {"null", name_of(field.nulls, kNulls)},
                                {"unit", text(field.unit)},
                                {"heading", text(field.heading)},
                                {"meaning", field.meaning},
                                {"where", field.where},
                                {"with", text(field.with)},
                                {"optional", field.optional || !field.with.empty()},
                                {"choices", field.choices}};
    out << separator << entry.dump();
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace attnscope
