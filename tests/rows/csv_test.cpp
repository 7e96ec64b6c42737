// Rows that are buffered until the columns are known are written as if all had been in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/rows/writers.h"
#include "tests/support/environment.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;  // column suffixes and cell texts

std::string quoted(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out;
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return '"' + out + '"';
}

void flatten(const Value& value, const std::string& suffix, Cells& cells) {
  if (const auto* record = value.get<Record>()) {
    for (const auto& [name, inner] : record->fields()) flatten(inner, suffix + "_" + name, cells);
  } else if (const auto* list = value.get<Value::List>()) {
    for (std::size_t at = 0; at < list->size(); ++at) {
      flatten((*list)[at], suffix + "_" + std::to_string(at), cells);
    }
  } else if (const auto* array = value.get<Array>()) {
    // The only arrays in this test.
    const auto& numbers = std::get<std::vector<double>>(array->data);
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      flatten(Value(numbers[at]), suffix + "_" + std::to_string(at), cells);
    }
  } else if (const bool* flag = value.get<bool>()) {
    cells.emplace_back(suffix, *flag ? "true" : "false");
  } else if (const auto* integer = value.get<std::int64_t>()) {
    cells.emplace_back(suffix, std::to_string(*integer));
  } else if (const auto* number = value.get<double>()) {
    cells.emplace_back(suffix, shortest_decimal(*number));
  } else if (const auto* text = value.get<std::string>()) {
    cells.emplace_back(suffix, quoted(*text));
  } else {
    cells.emplace_back(suffix, "");
  }
}

/// Reference implementation: fields in order of appearance, with the columns of each field
/// together. A single value has no column of its own if the field has several columns.
std::string plain_csv(const Report& report) {
  std::vector<Record> rows = report.rows;
  for (const Skipped& skipped : report.skipped) {
    rows.push_back({{"model", skipped.model},
                    {"layer", skipped.layer},
                    {"matrix", skipped.matrix},
                    {"head", skipped.head}});
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;  // fields, their suffixes
  std::vector<std::map<std::string, std::string>> lines;
  for (const Record& row : rows) {
    auto& line = lines.emplace_back();
    for (const auto& [name, value] : row.fields()) {
      const auto same = [&name = name](const auto& column) { return column.first == name; };
      auto place = std::find_if(columns.begin(), columns.end(), same);
      if (place == columns.end()) place = columns.insert(place, {name, {}});
      Cells cells;
      flatten(value, "", cells);
      std::vector<std::string>& known = place->second;
      const bool is_single = cells.size() == 1 && cells[0].first.empty();
      for (const auto& [suffix, text] : cells) {
        const bool is_known = std::find(known.begin(), known.end(), suffix) != known.end();
        if (!is_known && !(is_single && !known.empty())) known.push_back(suffix);
        line[name + suffix] = text;
      }
    }
  }
  const bool has_skips = report.command != "info" && report.command != "matrix";
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    out += join(cells, ",") + "\r\n";
  };
  std::vector<std::string> names, cells;
  for (const auto& [field, suffixes] : columns) {
    for (const std::string& suffix : suffixes) names.push_back(field + suffix);
  }
  for (const std::string& name : names) cells.push_back(quoted(name));
  if (has_skips) cells.push_back("skipped");
  add_line(cells);
  for (std::size_t number = 0; number < lines.size(); ++number) {
    cells.clear();
    for (const std::string& name : names) cells.push_back(lines[number][name]);
    const bool was_skipped = number >= report.rows.size();
    if (has_skips) {
      cells.push_back(was_skipped ? quoted(report.skipped[number - report.rows.size()].reason)
                                  : "");
    }
    add_line(cells);
  }
  return out;
}

std::string written(const Report& report) {
  std::ostringstream out;
  send(report, *formats()[1].make({}, out));
  return out.str();
}

Report csv_report(std::vector<Record> rows, std::vector<Skipped> skipped = {}) {
  Report report;
  report.command = "spectrum";
  report.rows = std::move(rows);
  report.skipped = std::move(skipped);
  return report;
}

TEST(CsvWriter, RowsOfDifferentShapeShareColumns) {
  using List = Value::List;
  const std::vector<Record> rows = {
      {{"a", nullptr}, {"b", 1}, {"map", nullptr}},
      {{"a", 2}, {"map", Record{{"0.9", 3}, {"0.99", 4}}}},
      {{"late", "x"}, {"a", 5}, {"map", nullptr}},
      {{"map", Record{{"0.5", 6}, {"0.9", nullptr}}}, {"b", -0.0}},
      {{"wide", std::vector<double>{1, 2, 3}}, {"late", ""}},
      {{"wide", std::vector<double>{}}, {"late", true}},
      {{"wide", nullptr}},
      {{"wide", 7.5}},  // no column of its own
      {{"wide", List{1, List{2, Record{{"deep", "er"}}}, nullptr, "four"}}},
      {},
      {{"text", "a \"b\", c\r\nd\te"}, {"na,me", "\""}, {"empty", ""}},
  };
  EXPECT_EQ(plain_csv(csv_report({rows[1], rows[0], rows[3]})),
            "a,map_0.9,map_0.99,map_0.5,b,skipped\r\n"
            "2,3,4,,,\r\n"
            ",,,,1,\r\n"
            ",,,6,-0,\r\n");
  EXPECT_EQ(written(csv_report(rows)), plain_csv(csv_report(rows)));
  // In any order, and with skipped entries at the end.
  std::mt19937_64 random(1);
  for (int time = 0; time < 200; ++time) {
    std::vector<Record> some;
    for (std::size_t count = random() % 12; count > 0; --count) {
      some.push_back(rows[random() % rows.size()]);
    }
    std::vector<Skipped> skipped;
    if (random() % 2 == 0) skipped.push_back({"m, n", 3, "q", std::nullopt, "holds \"NaN\"\n"});
    if (random() % 2 == 0) skipped.push_back({"", std::nullopt, "w", 2, ""});
    const Report report = csv_report(some, skipped);
    ASSERT_EQ(written(report), plain_csv(report));
  }
}

TEST(CsvWriter, WritesAHeaderWithoutRows) {
  EXPECT_EQ(written(csv_report({})), "skipped\r\n");
  EXPECT_EQ(written(csv_report({}, {{"m", 1, "q", std::nullopt, "why"}})),
            "model,layer,matrix,head,skipped\r\nm,1,q,,why\r\n");
  Report facts = csv_report({});
  facts.command = "info";
  EXPECT_EQ(written(facts), "\r\n");
}

/// More than fits in memory, with cells longer than a block of the file.
Report large_report() {
  std::mt19937_64 random(2);
  std::vector<Record> rows;
  for (std::int64_t number = 0; number < 6000; ++number) {
    Record row = {{"number", number}, {"text", std::string(random() % 300, 'x')}};
    if (number % 7 == 0) row.add("map", Record{{std::to_string(number % 5), 0.5}});
    if (number % 600 == 17) row.add("long", std::string(2'500'000, 'y') + ",\n\"z");
    if (number % 100 == 99) row.add("values", std::vector<double>(random() % 50, 0.125));
    rows.push_back(std::move(row));
  }
  return csv_report(std::move(rows), {{"m", 1, "q", 3, "why"}});
}

TEST(CsvWriter, SpillsRowsThatExceedTheMemory) {
  const Report report = large_report();
  const std::string expected = plain_csv(report);
  EXPECT_GT(expected.size(), 20'000'000u);
  EXPECT_TRUE(written(report) == expected);
}

TEST(CsvWriter, ReportsMissingSpaceForRows) {
  const ChangedVariable nowhere("TMPDIR", "/proc");
  EXPECT_ERROR_SAYING(ErrorKind::io, written(large_report()), "/proc", "TMPDIR");
}

TEST(CsvWriter, PutsAnApostropheBeforeFormulasOnRequest) {
  const auto written = [](bool escape) {
    std::ostringstream out;
    WriteOptions options;
    options.escape_formulas = escape;
    const auto csv = std::find_if(formats().begin(), formats().end(),
                                  [](const Format& format) { return format.name == "csv"; });
    const auto sink = csv->make(options, out);
    sink->begin({.command = "info"});
    for (const char* text : {"=1+1", "+1", "-x", "@sum", "\t=1", "a=b", "=a,b", ""}) {
      sink->add_row({{"name", text}, {"number", -1.5}, {"list", Value::List{"=2", -3}}});
    }
    sink->end();
    return out.str();
  };
  const std::string head = "name,number,list_0,list_1\r\n";
  std::string plain = head, escaped = head;
  for (const char* text : {"=1+1", "+1", "-x", "@sum", "\t=1"}) {
    plain += std::string(text) + ",-1.5,=2,-3\r\n";
    escaped += "'" + std::string(text) + ",-1.5,'=2,-3\r\n";
  }
  EXPECT_EQ(written(false), plain + "a=b,-1.5,=2,-3\r\n\"=a,b\",-1.5,=2,-3\r\n,-1.5,=2,-3\r\n");
  EXPECT_EQ(written(true),
            escaped + "a=b,-1.5,'=2,-3\r\n\"'=a,b\",-1.5,'=2,-3\r\n,-1.5,'=2,-3\r\n");
}

}  // namespace
}  // namespace attnscope::test
