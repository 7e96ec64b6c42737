// The table of `spectrum`: every requested threshold, the width, and totals.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

/// A row for a matrix of 64 rows. `ranks`: energy ranks at 0.6, 0.9 and 0.99, or fewer of them.
Record spectrum_row(const std::string& model, std::int64_t layer, const std::string& matrix,
                    const std::vector<std::int64_t>& ranks) {
  const std::string thresholds[] = {"0.6", "0.9", "0.99"};
  Record rank, null;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    rank.add(thresholds[at], ranks[at]);
    null.add(thresholds[at], ranks[at] + 1 - layer + 10 * static_cast<std::int64_t>(at));
  }
  return {{"model", model},         {"layer", layer},      {"matrix", matrix},
          {"head", Value()},        {"energy_rank", rank}, {"random_energy_rank", null},
          {"max_possible_rank", 64}};
}

Report spectrum_report(const std::vector<std::string>& models,
                       const std::vector<std::string>& matrices, std::size_t thresholds,
                       std::int64_t layers = 2) {
  Report report;
  report.command = "spectrum";
  for (const std::string& model : models) {
    report.models.push_back({{"name", model}, {"architecture", "made"}, {"layers", layers}});
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (const std::string& matrix : matrices) {
        std::vector<std::int64_t> ranks = {20 + layer, 40 + layer, 60 + layer};
        ranks.resize(thresholds);
        report.rows.push_back(spectrum_row(model, layer, matrix, ranks));
      }
    }
  }
  return report;
}

std::string spectrum_table(const Report& report, int width = 100) {
  std::ostringstream out;
  send(report, *formats()[0].make({.width = width}, out));
  return out.str();
}

using Words = std::vector<std::string>;

/// The words of every line that begins with `first`.
std::vector<Words> lines_with(const std::string& table, const std::string& first) {
  std::vector<Words> found;
  for (const std::string& line : split(table, '\n')) {
    std::istringstream text(line);
    Words words;
    for (std::string word; text >> word;) words.push_back(word);
    if (!words.empty() && words.front() == first) found.push_back(std::move(words));
  }
  return found;
}

TEST(SpectrumTable, HasAColumnPerThreshold) {
  const std::string table = spectrum_table(spectrum_report({"a"}, {"q", "k"}, 3));
  EXPECT_EQ(lines_with(table, "layer")[0], (Words{"layer", "q", "q", "q", "k", "k", "k"}));
  EXPECT_EQ(lines_with(table, "rank")[0],
            (Words{"rank", "at", "0.6", "0.9", "0.99", "0.6", "0.9", "0.99"}));
  EXPECT_EQ(lines_with(table, "of")[0], (Words{"of", "64", "64"})) << "once for a matrix";
  EXPECT_EQ(lines_with(table, "1")[0],
            (Words{"1", "21", "41", "61", "95%", "21", "41", "61", "95%"}));
  EXPECT_EQ(lines_with(table, "total")[0],
            (Words{"total", "41", "81", "121", "95%", "41", "81", "121", "95%"}));
  EXPECT_NE(table.find("needed for 0.6, 0.9 and 0.99 of the energy"), std::string::npos) << table;
}

TEST(SpectrumTable, OmitsTheThresholdLineForOneThreshold) {
  const std::string table = spectrum_table(spectrum_report({"a"}, {"q", "k"}, 1));
  EXPECT_TRUE(lines_with(table, "rank").empty()) << table;
  EXPECT_EQ(lines_with(table, "1")[0], (Words{"1", "21", "33%", "21", "33%"}));
  EXPECT_NE(table.find("needed for 0.6 of the energy"), std::string::npos) << table;
}

TEST(SpectrumTable, ShowsTheRandomBaselineAtEachThreshold) {
  const std::string table = spectrum_table(spectrum_report({"a"}, {"q"}, 2));
  EXPECT_EQ(lines_with(table, "random")[0], (Words{"random", "21", "51"})) << table;
}

TEST(SpectrumTable, BreaksBetweenMatricesNeverWithinOne) {
  const std::string table =
      spectrum_table(spectrum_report({"a"}, {"q", "k", "v", "o", "up", "down"}, 3), 80);
  for (const std::string& line : split(table, '\n')) {
    if (line.starts_with("Number of singular values")) continue;
    EXPECT_LE(display_width(line), 80u) << line;
  }
  std::size_t columns = 0;
  for (const Words& line : lines_with(table, "rank")) {
    EXPECT_EQ((line.size() - 2) % 3, 0u) << table;
    columns += line.size() - 2;
  }
  EXPECT_EQ(columns, 18u);
  EXPECT_GT(lines_with(table, "layer").size(), 1u);
}

TEST(SpectrumTable, SplitsATooWideTableOfSeveralModelsByThreshold) {
  const std::vector<std::string> models = {"a", "b", "c", "d", "e", "f"};
  const std::string wide = spectrum_table(spectrum_report(models, {"q"}, 2), 200);
  EXPECT_EQ(lines_with(wide, "layer").size(), 1u) << wide;
  const std::string narrow = spectrum_table(spectrum_report(models, {"q"}, 2), 80);
  const auto thresholds = lines_with(narrow, "rank");
  ASSERT_EQ(thresholds.size(), 2u) << narrow;
  EXPECT_EQ(thresholds[0], (Words{"rank", "at", "0.6", "0.6", "0.6", "0.6", "0.6", "0.6"}));
  EXPECT_EQ(thresholds[1], (Words{"rank", "at", "0.9", "0.9", "0.9", "0.9", "0.9", "0.9"}));
  EXPECT_EQ(lines_with(narrow, "0")[0].size(), 13u) << "each with its share:\n" << narrow;
}

TEST(SpectrumTable, TotalsCountASharedMatrixOnce) {
  Report report = spectrum_report({"a"}, {"q", "k", "v"}, 2, /*layers=*/4);
  report.models[0].add(
      "shared_weights",
      Value::List{
          Record{{"matrices", Value::List{"q"}}, {"layers", std::vector<std::int64_t>{0, 1, 2, 3}}},
          Record{{"matrices", Value::List{"k"}}, {"layers", std::vector<std::int64_t>{1, 3}}}});
  const std::string table = spectrum_table(report);
  const Words total = lines_with(table, "total")[0];
  // q: layer 0; k: layers 0, 1 and 2; v: all four layers.
  EXPECT_EQ(total, (Words{"total", "20", "40", "62%", "63", "123", "64%", "86", "166", "65%"}));
  EXPECT_NE(table.find("4 layers with shared weights"), std::string::npos) << table;
  EXPECT_NE(table.find("counts shared matrices once"), std::string::npos) << table;
}

TEST(SpectrumTable, TotalsCountTheFirstSelectedLayerThatSharesAMatrix) {
  Report report = spectrum_report({"a"}, {"q"}, 1, /*layers=*/4);
  report.rows.erase(report.rows.begin(), report.rows.begin() + 2);  // --layers 2-3
  report.models[0].add("shared_weights",
                       Value::List{Record{{"matrices", Value::List{"q"}},
                                          {"layers", std::vector<std::int64_t>{0, 1, 2, 3}}}});
  EXPECT_EQ(lines_with(spectrum_table(report), "total")[0], (Words{"total", "22", "34%"}));
}

}  // namespace
}  // namespace attnscope::test
