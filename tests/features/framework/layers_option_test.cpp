// --layers: the layers that a range selects.
#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TEST(CliLayers, RangesIncludeBothEndsAndNegativeNumbersCountFromTheEnd) {
  const TempFolder folder;
  const std::string path = TinyLlama(/*layers=*/6).write(folder, "six");
  const struct {
    std::string text;
    std::vector<int> layers;
    std::string reported = text;
  } cases[] = {
      {"0", {0}},
      {"-1", {5}},
      {"-6", {0}},
      {"0,-2-", {0, 4, 5}},
      {"1-3", {1, 2, 3}},
      {"2-2", {2}, "2"},
      {"4-", {4, 5}},
      {"-3--2", {3, 4}},
      {"1--4", {1, 2}},
      {"-6-1", {0, 1}},
      {"-4-", {2, 3, 4, 5}},
      {"0-3,-4-", {0, 1, 2, 3, 4, 5}},
      {"3,1,1-2,3", {1, 2, 3}},
      {"0-", {0, 1, 2, 3, 4, 5}},
  };
  for (const auto& [text, layers, reported] : cases) {
    // A value that begins with a dash is not an option, whether it follows a space or an equals
    // sign.
    for (const Words& option : {Words{"--layers", text}, Words{"--layers=" + text}}) {
      SCOPED_TRACE(command_text(option));
      const json report = report_of(Words{"spectrum", path, "--matrix", "q"} + option);
      std::vector<int> got;
      for (const json& row : report["rows"]) got.push_back(row["layer"]);
      EXPECT_EQ(got, layers);
      EXPECT_EQ(report["parameters"]["layers"], reported);
    }
  }
  EXPECT_EQ(report_of({"spectrum", path, "--matrix", "q"})["rows"].size(), 6u);
}

TEST(CliLayers, CountsFromTheEndOfEachModel) {
  const TempFolder folder;
  const std::string six = TinyLlama(6).write(folder, "six"),
                    two = TinyLlama(2).write(folder, "two");
  const json report = report_of({"spectrum", six, two, "--matrix", "q", "--layers", "-1"});
  ASSERT_EQ(report["rows"].size(), 2u);
  EXPECT_EQ(report["rows"][0]["layer"], 5);
  EXPECT_EQ(report["rows"][1]["layer"], 1);
  expect_refusal({"spectrum", six, two, "--layers", "2"}, 2,
                 {"--layers", "'2'", "two has layers 0 to 1"});
  expect_refusal({"spectrum", six, two, "--layers", "0,-3-"}, 2, {"--layers", "'-3-'", "two"});
  expect_refusal({"spectrum", two, six, "--layers", "6"}, 2, {"--layers", "two"});
}

TEST(CliLayers, SelectsRowsWithoutChangingNumbers) {
  const json all = report_of({"spectrum", data_path("gemma3"), "--per-head"})["rows"];
  json chosen = json::array();
  for (const json& row : all) {
    if (row["layer"] == 1) chosen.push_back(row);
  }
  EXPECT_FALSE(chosen.empty());
  EXPECT_EQ(report_of({"spectrum", data_path("gemma3"), "--per-head", "--layers", "1"})["rows"],
            chosen);
}

}  // namespace
}  // namespace attnscope::test
