// CSV output: RFC 4180, and the same numbers as JSON.
#include <cstdlib>
#include <functional>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// Compares a cell with the JSON value that it must contain. Numbers compare as float64.
void expect_cell(const std::string& cell, const json& value, const std::string& column) {
  if (value.is_null()) {
    EXPECT_EQ(cell, "") << column;
  } else if (value.is_number()) {
    char* end = nullptr;
    EXPECT_EQ(std::strtod(cell.c_str(), &end), value.get<double>()) << column;
    EXPECT_EQ(*end, '\0') << column << ": " << cell;
  } else {
    EXPECT_EQ(cell, value.get<std::string>()) << column;
  }
}

/// Compares every field of the row with its columns. Maps and arrays have one column per entry.
void expect_same_row(const CsvTable& table, std::size_t at, const json& row) {
  std::size_t filled = 0;
  const std::function<void(const std::string&, const json&)> check = [&](const std::string& column,
                                                                         const json& value) {
    if (value.is_structured()) {
      for (const auto& [key, inner] : value.items()) check(column + "_" + key, inner);
      return;
    }
    ASSERT_TRUE(table.has(column)) << column;
    expect_cell(table.cell(at, column), value, column);
    if (!value.is_null()) ++filled;
  };
  for (const auto& [name, value] : row.items()) check(name, value);
  const Words& cells = table.rows[at];
  EXPECT_EQ(filled, cells.size() - static_cast<std::size_t>(
                                       std::count(cells.begin(), cells.end(), std::string())))
      << "other cells of row " << at << " are filled";
}

void expect_same_numbers(const Words& command) {
  SCOPED_TRACE(command_text(command));
  const CsvTable table = csv_of(command);
  const json report = report_of(command);
  ASSERT_EQ(table.rows.size(), report["rows"].size());
  for (std::size_t at = 0; at < table.rows.size(); ++at)
    expect_same_row(table, at, report["rows"][at]);
}

TEST(CliCsv, HasTheDocumentedColumns) {
  const CsvTable table = csv_of({"spectrum", data_path("opt"), "--energy", "0.6,0.9"});
  EXPECT_EQ(table.columns, (Words{"model",
                                  "layer",
                                  "matrix",
                                  "head",
                                  "shape_0",
                                  "shape_1",
                                  "energy_rank_0.6",
                                  "energy_rank_0.9",
                                  "random_energy_rank_0.6",
                                  "random_energy_rank_0.9",
                                  "stable_rank",
                                  "effective_rank",
                                  "participation_ratio",
                                  "numerical_rank",
                                  "max_possible_rank",
                                  "spectral_norm",
                                  "frobenius_norm",
                                  "nuclear_norm",
                                  "condition_number",
                                  "skipped"}));
}

TEST(CliCsv, ContainsTheSameNumbersAsJson) {
  expect_same_numbers({"spectrum", data_path("qwen3"), data_path("albert"), "--per-head"});
  expect_same_numbers(
      {"spectrum", data_path("llama"), "--matrix", "k,q,qk", "--per-head", "--values"});
  expect_same_numbers({"spectrum", data_path("llama"), "--matrix", "kv", "--rank", "4,0.1D"});
  expect_same_numbers({"spectrum", data_path("llama"), data_path("bert"), "--mla"});
  expect_same_numbers({"spectrum", data_path("gpt2"), "--tensor", "transformer.wpe.weight"});
  expect_same_numbers({"info", data_path("gemma3-multimodal"), data_path("gpt2-old")});
  expect_same_numbers({"matrix", data_path("mistral"), "--layer", "1", "--matrix", "ov"});
}

TEST(CliCsv, ValuesHaveOneColumnEach) {
  // The widest row decides how many columns there are. Shorter rows leave the others empty.
  const CsvTable table =
      csv_of({"spectrum", data_path("llama"), "--layers", "0", "--matrix", "k,q", "--values"});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.columns.back(), "skipped");
  EXPECT_TRUE(table.has("singular_values_31"));
  EXPECT_TRUE(table.has("cumulative_energy_31"));
  EXPECT_FALSE(table.has("singular_values_32"));
  EXPECT_NE(table.cell(0, "singular_values_15"), "");
  EXPECT_EQ(table.cell(0, "singular_values_16"), "");
  EXPECT_NE(table.cell(1, "singular_values_31"), "");
}

TEST(CliCsv, QuotesNamesIfNeeded) {
  const TempFolder folder;
  const std::string name = R"(run 3, "best" = 'final')";
  const std::string path = TinyLlama(1).write(folder, name);
  for (const Words& command : {Words{"spectrum", path}, Words{"info", path}}) {
    const CsvTable table = csv_of(command);
    ASSERT_FALSE(table.rows.empty());
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      EXPECT_EQ(table.cell(row, "model"), name);
    }
  }
}

TEST(CliCsv, QuotesTensorNamesIfNeeded) {
  const TempFolder folder;
  TinyLlama model(1);
  const Words names = {"a,b", "a\"b", "a\r\nb", "\"", "=1+1", " padded ", "umlaut ä"};
  for (const std::string& name : names) model.tensors.push_back(counting_tensor(name, {2, 2}));
  const std::string path = model.write(folder, "quotes");
  const CsvTable info = csv_of({"info", path});
  for (const std::string& name : names) {
    const auto holds = [&](const Words& row) { return row.at(1) == name; };
    EXPECT_EQ(std::count_if(info.rows.begin(), info.rows.end(), holds), 1) << name;
    const CsvTable spectrum = csv_of({"spectrum", path, "--tensor", name});
    EXPECT_EQ(spectrum.cell(0, "matrix"), name);
  }
}

TEST(CliCsv, HasNoControlBytesButLineEnds) {
  const TempFolder folder;
  TinyLlama model(1);
  model.tensors.push_back(counting_tensor("evil\x1b[31m\x7f", {2, 2}));
  const std::string path = model.write(folder, "hostile");
  // RFC 4180 allows no control bytes in a cell, and a terminal would interpret them.
  EXPECT_FALSE(contains(output_of({"info", path, "--format", "csv"}), "\x1b"));
}

TEST(CliCsv, LineFeedsOccurOnlyAtLineEnds) {
  const std::string text = output_of({"spectrum", data_path("bert"), "--format", "csv"});
  std::size_t line_feeds = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n') continue;
    ++line_feeds;
    EXPECT_EQ(text[at - 1], '\r');
  }
  EXPECT_EQ(line_feeds, 1u + 2 * 6);  // the header, and 6 projections of 2 layers
}

}  // namespace
}  // namespace attnscope::test
