#include "attnscope/features/attention/saved_maps.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "attnscope/features/attention/run.h"

namespace attnscope {
namespace {

using Maps = std::vector<std::vector<float>>;  // one entry per layer

/// Maps saved during a run over these sequences (`held`), and the maps of visit_saved_maps()
/// (`kept`). `runs_again` means that saved maps required a second run.
struct Found {
  Maps held, kept;
  bool runs_again = false;
};

Found maps_of(const std::vector<TokenIds>& sequences, const Context& context = {}) {
  const Model model =
      Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward/gpt2");
  const SavedMapsRequest maps_request{.sequences = sequences, .layers = {0, 1}};
  const auto into = [](Maps& maps) {
    return [&maps](std::span<const float> layer) { maps.emplace_back(layer.begin(), layer.end()); };
  };
  SavedMaps saved(model, maps_request);
  ReportCollector rows;
  run_attention(
      std::span(&model, 1),
      {.sequences = {sequences}, .options = {{"energy", 0.9}, {"exclude_first_token", false}}},
      saved.watching(context), rows);
  Found found;
  Context stopped;  // cannot run anything
  std::stop_source stop;
  stop.request_stop();
  stopped.stop = stop.get_token();
  try {
    saved.give(stopped, into(found.held));
  } catch (const Stopped&) {
    found.runs_again = true;
    saved.give({}, into(found.held));
  }
  visit_saved_maps(model, maps_request, {}, into(found.kept));
  return found;
}

TEST(SavedMaps, ASingleSequenceNeedsNoSecondRun) {
  const Found found = maps_of({{1, 2, 3, 4, 5}});
  EXPECT_FALSE(found.runs_again);
  EXPECT_EQ(found.kept.size(), 2u);
  EXPECT_EQ(found.held, found.kept);
}

TEST(SavedMaps, SeveralSequencesNeedASecondRun) {
  const Found found = maps_of({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(found.runs_again);
  EXPECT_EQ(found.held, found.kept);
}

TEST(SavedMaps, LittleMemoryCausesASecondRun) {
  const Found found = maps_of({{1, 2, 3, 4, 5}}, {.memory_bytes = 1000});
  EXPECT_TRUE(found.runs_again);
  EXPECT_EQ(found.held, found.kept);
}

}  // namespace
}  // namespace attnscope
