// Table of `export --list`: one line per model and set of a store.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::size_t kParameters = 3;  // column that is cut if lines are too wide

std::string word_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text = value.dump();
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == '"'; });
  return text;
}

/// "energy 0.9,0.99; per_head": the parameters, without flags that are not set.
std::string parameters_text(const std::string& text) {
  const nlohmann::json parameters = parse_json(text, "parameters");
  std::vector<std::string> words;
  for (const auto& [name, value] : parameters.items()) {
    if (value.is_null() || value == false) continue;
    words.push_back(value == true ? name : name + " " + word_of(value));
  }
  return printable(join(words, "; "));
}

/// Converts "2025-11-23T09:10:41Z" to "2025-11-23 09:10:41".
std::string time_text(std::string iso) {
  std::replace(iso.begin(), iso.end(), 'T', ' ');
  if (iso.ends_with('Z')) iso.pop_back();
  return printable(iso);
}

std::string count_text(const Record& row, std::string_view name) {
  const Value* value = row.find(name);
  const auto* count = value == nullptr ? nullptr : value->get<std::int64_t>();
  return count == nullptr ? "-" : grouped(*count);
}

}  // namespace

void write_contents_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  std::vector<std::vector<std::string>> lines(1);
  for (const char* field :
       {"set", "model", "command", "parameters", "rows", "skipped", "finished"}) {
    lines[0].push_back(style.bold(heading("stored_set", field)));
  }
  std::size_t longest = 0;
  for (const Record& row : report.rows) {
    const std::string command = text_field(row, "command"), analysis = text_field(row, "analysis");
    const std::string parameters = parameters_text(text_field(row, "parameters"));
    longest = std::max(longest, display_width(parameters));
    lines.push_back({std::to_string(integer_field(row, "set")), printable(text_field(row, "model")),
                     printable(command == analysis ? command : command + ": " + analysis),
                     parameters, count_text(row, "rows"), count_text(row, "skipped"),
                     time_text(text_field(row, "finished"))});
  }
  constexpr std::size_t kLeast = 16;  // minimum width of the parameters column
  constexpr std::size_t kLeft = 4;    // columns that are aligned to the left
  const std::size_t width = width_of(align(lines, kLeft));
  const auto most = static_cast<std::size_t>(std::max(options.width, 0));
  if (width > most) {
    const std::size_t room = longest - std::min(longest, width - most);
    for (std::size_t line = 1; line < lines.size(); ++line) {
      lines[line][kParameters] =
          fitted_text(lines[line][kParameters], static_cast<std::int64_t>(std::max(room, kLeast)));
    }
  }
  out << align(lines, kLeft) << '\n';
  write_legend(spell_parameters(
                   "Print one set with {set} N. Narrow the selection with {command} and {model}.",
                   options.spell),
               options, out);
}

}  // namespace attnscope
