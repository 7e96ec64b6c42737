// The tables of `attention`: their content and width.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/features/attention/heatmap_table.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record head_row(const std::string& model, std::int64_t layer, std::int64_t head, double rank) {
  const double step = 0.01 * static_cast<double>(head);
  return {{"model", model},
          {"layer", layer},
          {"head", head},
          {"sequences", 4},
          {"energy_rank", rank},
          {"energy_rank_error", 0.25},
          {"sink_mass", 0.5 + step},
          {"sink_mass_error", 0.01},
          {"previous_token", 0.25 + step},
          {"previous_token_error", Value()},
          {"current_token", 0.125},
          {"entropy", 2.0 - step},
          {"mean_distance", 7.5 + step}};
}

Record layer_row(const std::string& model, std::int64_t layer, double rank, bool collapsed) {
  return {{"model", model},
          {"layer", layer},
          {"head", Value()},
          {"sequences", 4},
          {"max_rank", rank},
          {"mean_max_rank", rank + 0.5},
          {"mean_energy_columns", 3.25},
          {"mean_energy_columns_error", 0.5},
          {"collapsed", collapsed}};
}

struct Shown {
  std::string text;
  std::vector<std::string> lines;
};

Shown table_of(const Report& report, const WriteOptions& options = {}) {
  std::ostringstream out;
  send(report, *formats()[0].make(options, out));
  Shown shown{.text = out.str()};
  std::istringstream lines(shown.text);
  for (std::string line; std::getline(lines, line);) shown.lines.push_back(line);
  return shown;
}

/// `layers` layers with `heads` heads each. Layers from `collapsed` on have collapsed.
Report table_report(const std::vector<std::string>& models, std::int64_t layers, std::int64_t heads,
                    std::int64_t collapsed) {
  Report report;
  report.command = "attention";
  report.parameters = {{"source", "book.txt"},
                       {"sequences", 4},
                       {"length", 100},
                       {"energy", 0.9},
                       {"exclude_first_token", false}};
  for (const std::string& model : models) {
    report.models.push_back({{"name", model}, {"layers", layers}});
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (std::int64_t head = 0; head < heads; ++head) {
        report.rows.push_back(head_row(model, layer, head, layer >= collapsed ? 1 : 10.25));
      }
      report.rows.push_back(
          layer_row(model, layer, layer >= collapsed ? 1 : 10.25, layer >= collapsed));
    }
  }
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(AttentionTable, DescribesEachLayer) {
  const Shown shown = table_of(table_report({"small"}, 3, 4, 2));
  EXPECT_TRUE(has(shown.text, "0          10.2      10.8  3.2 ±0.50")) << shown.text;
  EXPECT_TRUE(has(shown.text, "10.2 10.2 10.2 10.2")) << shown.text;
  EXPECT_TRUE(has(shown.text, "collapsed")) << shown.text;
  EXPECT_TRUE(has(shown.text, "attention to first token     L0H3 0.53 ±0.01")) << shown.text;
  EXPECT_TRUE(has(shown.text, "attention to previous token  L0H3 0.28  ")) << shown.text;
  EXPECT_TRUE(has(shown.text, "4 sequences of 100 tokens (book.txt)")) << shown.text;
  EXPECT_TRUE(has(shown.lines.back(), "small: 2 of 3 layers come before")) << shown.text;
}

TEST(AttentionTable, EndsWithALinePerModel) {
  const Shown shown = table_of(table_report({"a", "b"}, 2, 2, 5));
  ASSERT_GE(shown.lines.size(), 2u);
  EXPECT_EQ(shown.lines[shown.lines.size() - 2], "a: none of the 2 layers has collapsed");
  EXPECT_EQ(shown.lines.back(), "b: none of the 2 layers has collapsed");
}

TEST(AttentionTable, NamesTheFirstCollapsedOfSelectedLayers) {
  Report report = table_report({"a"}, 4, 2, 1);
  std::erase_if(report.rows, [](const Record& row) { return integer_field(row, "layer") < 2; });
  EXPECT_EQ(table_of(report).lines.back(), "a: first collapsed layer among these: 2");
}

TEST(AttentionTable, OmitsCollapseIfNotJudged) {
  Report report = table_report({"a"}, 2, 2, 5);
  for (Record& row : report.rows) {
    Record unjudged;
    for (const auto& [name, value] : row.fields()) {
      unjudged.add(name, name == "collapsed" ? Value() : value);
    }
    row = unjudged;
  }
  for (const std::string& line : table_of(report).lines) {
    EXPECT_FALSE(has(line, "collapsed") || has(line, "Inheritune")) << line;
  }
}

TEST(AttentionTable, FitsItsWidthForAnyNumberOfHeads) {
  for (const std::int64_t heads : {1, 12, 16, 32, 96, 128}) {
    for (const int width : {80, 120}) {
      for (const bool color : {false, true}) {
        const Shown shown =
            table_of(table_report({"m"}, 2, heads, 1), {.color = color, .width = width});
        for (const std::string& line : shown.lines) {
          if (has(line, "Rank:") || has(line, "Max rank:") || has(line, "Inheritune")) {
            continue;  // legends and summaries, not rows
          }
          EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << heads << ": " << line;
        }
        EXPECT_EQ(has(shown.text, "\x1b"), color);
      }
    }
  }
}

TEST(InductionTable, ShowsTheTenStrongestHeads) {
  Report report;
  report.command = "attention";
  report.parameters = {{"induction", true}, {"sequences", 8}, {"length", 100}};
  report.models = {{{"name", "m"}}};
  for (std::int64_t head = 0; head < 12; ++head) {
    const double score = 0.05 * static_cast<double>(head);
    report.rows.push_back({{"model", "m"},
                           {"layer", 1},
                           {"head", head},
                           {"induction", score},
                           {"induction_error", 0.001},
                           {"uniform_induction", 0.0138},
                           {"duplicate_token", 1 - score},
                           {"duplicate_token_error", 0.002},
                           {"uniform_duplicate_token", head == 3 ? 0.0 : 0.0138}});
  }
  const Shown shown = table_of(report);
  EXPECT_TRUE(has(shown.text, "L1H11      0.550 ±0.001")) << shown.text;
  EXPECT_TRUE(has(shown.text, "L1H0             1.000 ±0.002")) << shown.text;
  EXPECT_FALSE(has(shown.text, "0.050")) << shown.text;
  // Of layers that see as much one figure, of others from the least to the most.
  EXPECT_TRUE(has(shown.text, "uniform    0.014           uniform          0.000–0.014"))
      << shown.text;
}

TEST(AttentionTables, AcceptIncompleteRows) {
  const Record odd[] = {{},
                        {{"model", "m"}, {"layer", "x"}, {"energy_rank", "y"}},
                        {{"model", "m"}, {"head", 3}, {"energy_rank", Record()}},
                        {{"model", "m"}, {"induction", "x"}, {"duplicate_token", Value()}}};
  for (const Record& parameters :
       {Record{}, Record{{"induction", true}}, Record{{"induction", Value()}, {"length", "x"}}}) {
    for (const Record& row : odd) {
      Report report;
      report.command = "attention";
      report.parameters = parameters;
      report.models = {{{"name", "m"}}};
      report.rows = {row};
      table_of(report);
    }
  }
}

std::string drawn(HeatMap& map, bool log_scale = false) {
  std::ostringstream out;
  map.draw(log_scale, out);
  map.draw_scale(log_scale, out);
  return out.str();
}

TEST(HeatMap, ShrinksToTheLargestWeightOfEachBlock) {
  constexpr std::int64_t kSize = 200;
  HeatMap map(kSize, {.width = 80});
  for (std::int64_t row = 0; row < kSize; ++row) {
    std::vector<double> weights(kSize);
    weights[static_cast<std::size_t>(row == 7 ? 3 : 0)] = row == 7 ? 1 : 0;
    map.add_row(weights, "t");
  }
  const std::string text = drawn(map);
  std::istringstream lines(text);
  int marked = 0, rows = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 80u) << line;
    if (!has(line, " t") || has(line, "maximum")) continue;
    ++rows;
    marked += line.find('@') != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(marked, 1) << text;
  EXPECT_EQ(rows, 50) << text;
  EXPECT_TRUE(has(text, "the maximum of 4 × 4")) << text;
}

TEST(HeatMap, LogarithmicScaleShowsSmallWeights) {
  HeatMap map(2, {});
  map.add_row(std::vector<double>{1, 0}, "a");
  map.add_row(std::vector<double>{0.01, 0.99}, "b");
  EXPECT_TRUE(has(drawn(map), "1 b            @@")) << drawn(map);
  EXPECT_TRUE(has(drawn(map, /*log_scale=*/true), "++@@")) << drawn(map, true);
}

TEST(HeatMap, IsEmptyForZeros) {
  for (const bool color : {false, true}) {
    HeatMap map(3, {.color = color});
    for (int row = 0; row < 3; ++row) map.add_row(std::vector<double>(3), "t");
    EXPECT_FALSE(has(drawn(map), "▀"));
    EXPECT_FALSE(has(drawn(map, /*log_scale=*/true), "nan"));
  }
}

TEST(TextColumns, CutsAndPadsByDisplayWidth) {
  EXPECT_EQ(fitted_text("abc", 5), "abc  ");
  EXPECT_EQ(fitted_text("abcdef", 5), "abcd…");
  EXPECT_EQ(fitted_text("你好吗", 5), "你好…");
  EXPECT_EQ(fitted_text("你好吗", 4), "你… ");
  EXPECT_EQ(fitted_text("e\u0301a", 3), "e\u0301a ");
  EXPECT_EQ(characters_of("abc", 2, 1), (std::vector<std::string>{"a", "…"}));
  EXPECT_EQ(characters_of("你a", 4, 1), (std::vector<std::string>{"▯", "a"}));
}

}  // namespace
}  // namespace attnscope::test
