#include "attnscope/rows/table/table_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// Keeps rows without the arrays, which tables do not show.
class CollectedTable : public ReportCollector {
 public:
  CollectedTable(WriteTable write, const WriteOptions& options, std::ostream& out)
      : write_(write), options_(options), out_(out) {}

  void add_row(Record row) override {
    constexpr std::array kUnseen = {"singular_values", "cumulative_energy",
                                    "random_singular_values"};
    Record kept;
    for (const auto& [name, value] : row.fields()) {
      if (std::find(kUnseen.begin(), kUnseen.end(), name) == kUnseen.end()) kept.add(name, value);
    }
    ReportCollector::add_row(std::move(kept));
  }

  void end() override { write_(report(), options_, out_); }

 private:
  WriteTable write_;
  WriteOptions options_;
  std::ostream& out_;
};

/// Whether a parameter is present and not false.
bool asks_for(const Record& parameters, std::string_view name) {
  const Value* value = parameters.find(name);
  if (value == nullptr) return false;
  const bool* flag = value->get<bool>();
  return flag == nullptr || *flag;
}

/// Forwards everything to the table of the command, which begin() selects.
class TableWriter : public RowSink {
 public:
  TableWriter(const WriteOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void begin(const ReportHead& head) override {
    for (const TableOf& table : tables()) {
      if (table.command != head.command) continue;
      if (!table.parameter.empty() && !asks_for(head.parameters, table.parameter)) continue;
      table_ = table.make(options_, out_);
      break;
    }
    if (!table_) table_ = collected_table(write_plain_table, options_, out_);
    table_->begin(head);
  }
  void add_row(Record row) override { table_->add_row(std::move(row)); }
  void add_skipped(Skipped skipped) override { table_->add_skipped(std::move(skipped)); }
  void add_note(std::string) override {}
  void end() override { table_->end(); }

 private:
  WriteOptions options_;
  std::ostream& out_;
  std::unique_ptr<RowSink> table_;
};

}  // namespace

std::unique_ptr<RowSink> collected_table(WriteTable write, const WriteOptions& options,
                                         std::ostream& out) {
  return std::make_unique<CollectedTable>(write, options, out);
}

std::unique_ptr<RowSink> make_table_writer(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<TableWriter>(options, out);
}

namespace {

/// None for arrays and records, which only CSV and JSON contain.
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
