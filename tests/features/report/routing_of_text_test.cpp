#include "attnscope/features/report/routing_of_text.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "attnscope/features/attention/run.h"
#include "attnscope/features/experts/run.h"
#include "attnscope/rows/json.h"

namespace attnscope {
namespace {

/// The rows of run_routing() as text.
std::vector<std::string> routing_rows(const Model& model, const std::vector<TokenIds>& sequences,
                                      const Context& context) {
  ReportCollector rows;
  run_routing(std::span(&model, 1), {.layers = {}, .sequences = {sequences}, .text = {}}, context,
              rows);
  std::vector<std::string> texts;
  for (const Record& row : rows.report().rows) texts.push_back(json_text(row));
  return texts;
}

struct FoundRouting {
  std::vector<std::string> given, run;  // rows from saved routing, and from a separate run
  bool runs_again = false;
};

FoundRouting found_routing(const std::vector<TokenIds>& sequences,
                           const LayerSelection& watched = {}) {
  const Model model =
      Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward/qwen2_moe");
  SavedRouting held(model, sequences);
  ReportCollector rows;
  run_attention(std::span(&model, 1),
                {.sequences = {sequences},
                 .text = {},
                 .layers = watched,
                 .options = {{"energy", 0.9}, {"exclude_first_token", false}}},
                held.watching({.threads = 2}), rows);
  FoundRouting found;
  const Context giving = held.giving({});
  found.runs_again = !giving.compute_elsewhere;
  found.given = routing_rows(model, sequences, giving);
  found.run = routing_rows(model, sequences, {});
  return found;
}

TEST(SavedRouting, OneTextNeedsNoSecondRun) {
  const FoundRouting found = found_routing({{3, 1, 4, 1, 5, 9, 2, 6}});
  EXPECT_FALSE(found.runs_again);
  EXPECT_EQ(found.run.size(), 3u) << "a row for each layer";
  EXPECT_EQ(found.given, found.run);
}

TEST(SavedRouting, ManyTextsAreSummedInOrder) {
  std::vector<TokenIds> sequences;
  for (std::int64_t first = 0; first < 150; ++first) {
    sequences.push_back({first % 40, (first * 7) % 40, 5, (first * 3) % 40, 9, 2, 6, 5, 3, 5});
  }
  const FoundRouting found = found_routing(sequences);
  EXPECT_FALSE(found.runs_again);
  EXPECT_EQ(found.given, found.run);
}

TEST(SavedRouting, CoversAllLayersEvenIfMapsOfOneAreMeasured) {
  const FoundRouting found = found_routing({{3, 1, 4, 1, 5}}, {.ranges = {{0, 0}}});
  EXPECT_FALSE(found.runs_again);
  EXPECT_EQ(found.given, found.run);
}

TEST(SavedRouting, RunsTheModelIfNothingWasSaved) {
  const Model model =
      Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward/qwen2_moe");
  const SavedRouting held(model, {{1, 2, 3}});
  EXPECT_FALSE(held.giving({}).compute_elsewhere);
}

}  // namespace
}  // namespace attnscope
