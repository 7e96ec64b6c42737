// Writes rows as CSV (RFC 4180). Maps and arrays become columns: energy_rank_0.9, shape_0.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/temporary_file.h"
#include "attnscope/base/text.h"
#include "attnscope/rows/writers.h"

namespace attnscope {
namespace {

/// Removes terminal control characters from untrusted text. Line ends and tabs stay, because CSV
/// can represent them.
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

/// Whether a spreadsheet would interpret the text as a formula; it ignores leading line ends and
/// tabs.
bool is_like_formula(const std::string& text) {
  constexpr std::string_view kStarts = "=+-@\t\r\n";
  return !text.empty() && kStarts.find(text.front()) != std::string_view::npos;
}

std::string quoted(const std::string& untrusted, bool escape_formulas) {
  std::string text = without_controls(untrusted);
  if (escape_formulas && is_like_formula(text)) text.insert(text.begin(), '\'');
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string cell(const Value& value, bool escape_formulas) {
  return std::visit(
      [&](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          return std::to_string(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          return shortest_decimal(held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return quoted(held, escape_formulas);
        } else {
          return "";
        }
      },
      value.data());
}

using Cells = std::vector<std::pair<std::string, std::string>>;  // suffixes of columns, and texts

/// Splits fields into single values.
struct Flattened {
  Cells cells;
  bool escape_formulas;

  /// The single values inside a field, each with the suffix of its column.
  void add(const Value& value, const std::string& suffix) {
    if (const auto* record = value.get<Record>()) {
      for (const auto& [name, inner] : record->fields()) add(inner, suffix + "_" + name);
    } else if (const auto* list = value.get<Value::List>()) {
      for (std::size_t index = 0; index < list->size(); ++index) {
        add((*list)[index], suffix + "_" + std::to_string(index));
      }
    } else if (const auto* array = value.get<Array>()) {
      visit_array(*array, [&](const auto& part) { add_part(part, suffix); });
    } else {
      cells.emplace_back(suffix, cell(value, escape_formulas));
    }
  }

  template <class T>
  void add_part(const ArrayPart<T>& part, const std::string& suffix) {
    for (std::int64_t index = 0; index < part.shape.front(); ++index) {
      const std::string own = suffix + "_" + std::to_string(index);
      if (part.is_vector()) {
        const Value value(part.values[static_cast<std::size_t>(index)]);
        cells.emplace_back(own, cell(value, escape_formulas));
      } else {
        add_part(part[index], own);
      }
    }
  }
};

/// Columns in the order of first appearance, grouped by field.
class CsvColumns {
 public:
  /// Returns the column number of each cell; none for a null or empty field, which has no column.
  std::vector<std::optional<std::uint32_t>> add(const std::string& field, const Cells& cells) {
    auto [place, fresh] = suffixes_.try_emplace(field);
    if (fresh) fields_.push_back(field);
    Suffixes& own = place->second;
    std::vector<std::optional<std::uint32_t>> numbers;
    // A null or empty field does not show whether other rows have keys or entries there.
    const bool declares_nothing = cells.size() == 1 && cells[0].first.empty() && !own.order.empty();
    for (const auto& [suffix, text] : cells) {
      auto known = own.numbers.find(suffix);
      if (known == own.numbers.end() && !declares_nothing) {
        known = own.numbers.emplace(suffix, count_++).first;
        own.order.push_back(suffix);
      }
      numbers.push_back(known == own.numbers.end() ? std::nullopt : std::optional(known->second));
    }
    return numbers;
  }

  std::uint32_t count() const { return count_; }

  /// Calls `visit(name, number)` for every column.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::string& field : fields_) {
      const Suffixes& own = suffixes_.at(field);
      for (const std::string& suffix : own.order) visit(field + suffix, own.numbers.at(suffix));
    }
  }

 private:
  struct Suffixes {
    std::vector<std::string> order;
    std::map<std::string, std::uint32_t> numbers;
  };
  std::vector<std::string> fields_;
  std::map<std::string, Suffixes> suffixes_;
  std::uint32_t count_ = 0;
};

/// Buffers lines of cells with their column numbers until all columns are known.
class WaitingLines {
 public:
  void begin_line() { put(kNewLine); }
  void add(std::uint32_t column, std::string_view text) {
    put(column);
    put(static_cast<std::uint32_t>(text.size()));
    block_ += text;
    if (block_.size() > kBlock) flush();
  }

  /// Calls `visit(cells)` for every line: (columns,) texts, "" for missing cells.
  template <class Visit>
  void for_each(std::uint32_t columns, Visit visit) {
    flush();
    std::vector<std::string> cells(columns);
    bool any = false;
    for (std::uint64_t at = 0; at < spool_.size();) {
      const std::uint32_t column = number_at(at);
      if (column == kNewLine) {
        if (std::exchange(any, true)) visit(cells);
        std::fill(cells.begin(), cells.end(), "");
        continue;
      }
      const std::uint32_t length = number_at(at);
      cells[column] = text_at(at, length);
    }
    if (any) visit(cells);
  }

 private:
  static constexpr std::uint32_t kNewLine = 0xFFFFFFFF;
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  void put(std::uint32_t number) {
    block_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void flush() {
    if (!block_.empty()) spool_.append(block_);
    block_.clear();
  }

  std::string text_at(std::uint64_t& at, std::size_t length) {
    if (at < block_begin_ || at + length > block_begin_ + block_.size()) {
      block_begin_ = at;
      block_ = spool_.read(at, std::max(length, static_cast<std::size_t>(std::min<std::uint64_t>(
                                                    kBlock, spool_.size() - at))));
    }
    const std::string text = block_.substr(at - block_begin_, length);
    at += length;
    return text;
  }
  std::uint32_t number_at(std::uint64_t& at) {
    const std::string bytes = text_at(at, sizeof(std::uint32_t));
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  Spool spool_;
  std::string block_;  // not yet in the spool; when reading: its part from block_begin_ on
  std::uint64_t block_begin_ = 0;
};

void write_line(const std::vector<std::string>& cells, std::ostream& out) {
  out << join(cells, ",") << "\r\n";
}

class CsvWriter : public RowSink {
 public:
  CsvWriter(const WriteOptions& options, std::ostream& out)
      : out_(out), escape_formulas_(options.escape_formulas) {}

  void begin(const ReportHead& head) override {
    has_skips_ = head.command != "info" && head.command != "matrix";
  }

  void add_row(Record row) override {
    lines_.begin_line();
    for (const auto& [name, value] : row.fields()) {
      Flattened flattened{.cells = {}, .escape_formulas = escape_formulas_};
      flattened.add(value, "");
      const Cells& cells = flattened.cells;
      const auto numbers = columns_.add(name, cells);
      for (std::size_t at = 0; at < cells.size(); ++at) {
        if (numbers[at] && !cells[at].second.empty()) lines_.add(*numbers[at], cells[at].second);
      }
    }
    ++rows_;
  }

  void add_skipped(Skipped skipped) override { skipped_.push_back(std::move(skipped)); }
  void add_note(std::string) override {}

  void end() override {
    const std::size_t rows = rows_;  // the following ones were skipped
    for (const Skipped& skipped : skipped_) {
      add_row({{"model", skipped.model},
               {"layer", skipped.layer},
               {"matrix", skipped.matrix},
               {"head", skipped.head}});
    }
    std::vector<std::string> line;
    std::vector<std::uint32_t> order;
    columns_.for_each([&](const std::string& name, std::uint32_t number) {
      line.push_back(quoted(name, escape_formulas_));
      order.push_back(number);
    });
    if (has_skips_) line.push_back("skipped");
    write_line(line, out_);
    std::size_t number = 0;
    lines_.for_each(columns_.count(), [&](const std::vector<std::string>& cells) {
      line.clear();
      for (const std::uint32_t column : order) line.push_back(cells[column]);
      const std::string reason = number < rows ? "" : skipped_[number - rows].reason;
      if (has_skips_) line.push_back(quoted(reason, escape_formulas_));
      ++number;
      write_line(line, out_);
    });
  }

 private:
  std::ostream& out_;
  bool escape_formulas_;
  bool has_skips_ = false;
  CsvColumns columns_;
  WaitingLines lines_;
  std::size_t rows_ = 0;
  std::vector<Skipped> skipped_;
};

}  // namespace

std::unique_ptr<RowSink> make_csv_writer(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<CsvWriter>(options, out);
}

}  // namespace attnscope
