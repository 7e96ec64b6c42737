// The table of composition scores keeps only a few rows: those that a full sort would put first.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record pair_row(const std::string& model, std::int64_t number, Value excess) {
  return {{"model", model},        {"kind", "q"},
          {"layer", number / 100}, {"head", number % 100},
          {"receiver_layer", 99},  {"receiver_head", number % 7},
          {"score", 0.25},         {"excess", std::move(excess)}};
}

/// The head pairs in the table, as "layer 3 head 4", for all models in order.
std::vector<std::string> shown(const std::vector<Record>& rows,
                               const std::vector<std::string>& models,
                               std::string* text = nullptr) {
  Report report;
  report.command = "circuits";
  for (const std::string& model : models) report.models.push_back({{"name", model}});
  report.parameters = {{"composition", true}};
  report.rows = rows;
  std::ostringstream out;
  send(report, *formats()[0].make({}, out));
  if (text != nullptr) *text = out.str();
  std::vector<std::string> pairs;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("layer ")) continue;
    pairs.push_back(line.substr(0, line.find("  ")));
  }
  return pairs;
}

std::string pair_text(std::int64_t number) {
  return "layer " + std::to_string(number / 100) + " head " + std::to_string(number % 100);
}

/// The expected pairs, from a stable sort of all.
std::vector<std::string> strongest(const std::vector<double>& excess) {
  std::vector<std::int64_t> order;
  for (std::int64_t number = 0; number < std::ssize(excess); ++number) order.push_back(number);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return excess[static_cast<std::size_t>(a)] > excess[static_cast<std::size_t>(b)];
  });
  std::vector<std::string> out;
  for (std::size_t at = 0; at < std::min<std::size_t>(20, order.size()); ++at) {
    out.push_back(pair_text(order[at]));
  }
  return out;
}

TEST(CompositionTable, ShowsTheStrongestPairsOfAFullSort) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0, 1, 19, 20, 21, 500, 2000}) {
    // With few levels, many scores are equal.
    for (const std::uint64_t levels : {1, 2, 5, 1'000'000}) {
      std::vector<double> excess(count);
      std::vector<Record> rows;
      for (std::size_t number = 0; number < count; ++number) {
        excess[number] = static_cast<double>(random() % levels) / 100 - 0.01;
        rows.push_back(pair_row("m", static_cast<std::int64_t>(number), excess[number]));
      }
      std::string text;
      EXPECT_EQ(shown(rows, {"m"}, &text), strongest(excess)) << count << ", " << levels;
      const std::string more = "the strongest 20 of " + std::to_string(count) + " pairs";
      EXPECT_EQ(text.find(more) != std::string::npos, count > 20) << text;
    }
  }
}

TEST(CompositionTable, SeparatesModelsAndSkipsMissingScores) {
  std::vector<Record> rows;
  for (std::int64_t number = 0; number < 60; ++number) {
    rows.push_back(pair_row("a", number, number < 30 ? Value(1.0) : Value()));
    rows.push_back(pair_row("b", number, static_cast<double>(number)));
  }
  std::vector<std::string> expected;
  for (std::int64_t number = 0; number < 20; ++number) expected.push_back(pair_text(number));
  for (std::int64_t number = 59; number > 39; --number) expected.push_back(pair_text(number));
  std::string text;
  EXPECT_EQ(shown(rows, {"a", "b"}, &text), expected);
  EXPECT_NE(text.find("the strongest 20 of 30 pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("the strongest 20 of 60 pairs"), std::string::npos) << text;
}

}  // namespace
}  // namespace attnscope::test
