// The report's rows as CSV (RFC 4180). Maps and arrays become columns: energy_rank_0.9, shape_0.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "attnscope/core/text.h"
#include "attnscope/output/writers.h"

namespace attnscope {
namespace {

/// Text from files without what a terminal would obey; line ends and tabs stay, as CSV can hold
/// them.
std::string without_controls(std::string_view untrusted) {
  constexpr std::string_view kKept = "\r\n\t";
  std::string out;
  for (;;) {
    const std::size_t at = untrusted.find_first_of(kKept);
    out += printable(untrusted.substr(0, at));
    if (at == std::string_view::npos) return out;
    out += untrusted[at];
    untrusted.remove_prefix(at + 1);
  }
}

std::string quoted(const std::string& untrusted) {
  const std::string text = without_controls(untrusted);
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string cell(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          return std::to_string(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          return shortest_decimal(held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return quoted(held);
        } else {
          return "";
        }
      },
      value.data());
}

/// The single values inside a field, each with the suffix of its column.
void flatten(const Value& value, const std::string& suffix,
             std::vector<std::pair<std::string, std::string>>& cells) {
  if (const auto* record = value.get<Record>()) {
    for (const auto& [name, inner] : record->fields()) flatten(inner, suffix + "_" + name, cells);
  } else if (const auto* list = value.get<Value::List>()) {
    for (std::size_t index = 0; index < list->size(); ++index) {
      flatten((*list)[index], suffix + "_" + std::to_string(index), cells);
    }
  } else if (const auto* numbers = value.get<std::vector<double>>()) {
    for (std::size_t index = 0; index < numbers->size(); ++index) {
      cells.emplace_back(suffix + "_" + std::to_string(index), cell(Value((*numbers)[index])));
    }
  } else {
    cells.emplace_back(suffix, cell(value));
  }
}

/// Columns in the order of first appearance, those of one field together.
class Columns {
 public:
  void add(const std::string& field, const Value& value) {
    auto [place, fresh] = suffixes_.try_emplace(field);
    if (fresh) fields_.push_back(field);
    std::vector<std::pair<std::string, std::string>> cells;
    flatten(value, "", cells);
    // A null or empty field says nothing of its columns while others may.
    if (cells.size() == 1 && cells[0].first.empty() && !place->second.order.empty()) return;
    for (const auto& [suffix, text] : cells) {
      if (place->second.known.emplace(suffix, true).second) place->second.order.push_back(suffix);
    }
  }

  /// Calls `visit(field, suffix)` for every column.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::string& field : fields_) {
      for (const std::string& suffix : suffixes_.at(field).order) visit(field, suffix);
    }
  }

 private:
  struct Suffixes {
    std::vector<std::string> order;
    std::map<std::string, bool> known;
  };
  std::vector<std::string> fields_;
  std::map<std::string, Suffixes> suffixes_;
};

void write_line(const std::vector<std::string>& cells, std::ostream& out) {
  out << join(cells, ",") << "\r\n";
}

}  // namespace

void write_csv(const Report& report, const WriteOptions&, std::ostream& out) {
  std::vector<Record> rows = report.rows;
  const bool has_skips = report.command != "info" && report.command != "matrix";
  for (const Skipped& skipped : report.skipped) {
    rows.push_back({{"model", skipped.model},
                    {"layer", skipped.layer},
                    {"matrix", skipped.matrix},
                    {"head", skipped.head},
                    {"skipped", skipped.reason}});
  }

  Columns columns;
  for (const Record& row : rows) {
    for (const auto& [name, value] : row.fields()) {
      if (name != "skipped") columns.add(name, value);
    }
  }
  std::vector<std::string> line;
  columns.for_each([&](const std::string& field, const std::string& suffix) {
    line.push_back(quoted(field + suffix));
  });
  if (has_skips) line.push_back("skipped");
  write_line(line, out);

  for (const Record& row : rows) {
    std::map<std::string, std::string> cells;
    for (const auto& [name, value] : row.fields()) {
      std::vector<std::pair<std::string, std::string>> flat;
      flatten(value, "", flat);
      for (auto& [suffix, text] : flat) cells[name + suffix] = std::move(text);
    }
    line.clear();
    columns.for_each([&](const std::string& field, const std::string& suffix) {
      const auto found = cells.find(field + suffix);
      line.push_back(found == cells.end() ? "" : found->second);
    });
    if (has_skips) line.push_back(cells.count("skipped") ? cells["skipped"] : "");
    write_line(line, out);
  }
}

}  // namespace attnscope
