// Rows of a command that has no table of its own: a line each, single values only.
#include <algorithm>

#include "attnscope/core/text.h"
#include "attnscope/output/skipped_lines.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

/// Nothing for arrays and records, which are in csv and json.
std::optional<std::string> cell_of(const Value& value) {
  if (value.is_null()) return "-";
  if (const auto* flag = value.get<bool>()) return *flag ? "yes" : "no";
  if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
  if (const auto* number = value.get<double>()) return shortest_decimal(*number);
  if (const auto* text = value.get<std::string>()) return printable(*text);
  return std::nullopt;
}

}  // namespace

void write_plain_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  std::vector<std::string> names;
  for (const Record& row : report.rows) {
    for (const auto& [name, value] : row.fields()) {
      if (!cell_of(value) || std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& name : names) lines[0].push_back(style.bold(name));
  for (const Record& row : report.rows) {
    auto& line = lines.emplace_back();
    for (const std::string& name : names) {
      const Value* value = row.find(name);
      line.push_back(value == nullptr ? "-" : cell_of(*value).value_or("-"));
    }
  }
  out << align(lines);
  write_skipped(report, out);
}

}  // namespace attnscope
