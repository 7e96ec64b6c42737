// Intervals and significance of `lens --prompts` and `predict --attribution --prompts`. The
// numbers: tests/python/test_certainty.py.
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

/// Prompts for examples/induction-gpt2: six tokens, then the first two again. Corrupted prompts
/// swap the two answers.
std::string swapped_answers(int prompts, bool corrupted, const std::string& group = "") {
  std::string lines;
  for (int prompt = 0; prompt < prompts; ++prompt) {
    json clean = json::array();
    for (int at = 0; at < 6; ++at) clean.push_back((5 * prompt + 9 * at) % 64);
    json other = clean;
    std::swap(other[2], other[4]);
    for (json* text : {&clean, &other}) {
      for (const std::size_t at : {0U, 1U}) text->push_back((*text)[at]);
    }
    json line = {{"clean", clean}, {"correct", clean[2]}, {"incorrect", clean[4]}};
    if (corrupted) line["corrupted"] = other;
    if (!group.empty()) line["group"] = group + std::to_string(prompt / 2);
    lines += line.dump() + "\n";
  }
  return lines;
}

const std::vector<Words> kCommands = {{"lens"}, {"predict", "--attribution"}};

json rows_of_prompts(const Words& command, const std::string& prompts) {
  const TempFolder folder;
  return report_of(command + Words{source_path("examples/induction-gpt2"), "--quiet", "--prompts",
                                   folder.write("prompts.jsonl", prompts).string()})["rows"];
}

TEST(CliShareCertainty, TestsEveryRow) {
  for (const Words& command : kCommands) {
    SCOPED_TRACE(command_text(command));
    const json rows = rows_of_prompts(command, swapped_answers(14, /*corrupted=*/true));
    bool significant = false;
    for (const json& row : rows) {
      EXPECT_EQ(row["tests"], rows.size());
      EXPECT_LE(row["share_low"].get<double>(), row["share"].get<double>());
      EXPECT_GE(row["share_high"].get<double>(), row["share"].get<double>());
      if (row["share_significant"] == true) {
        significant = true;
        EXPECT_LE(row["share_p_value"].get<double>(), 0.05);
      }
    }
    EXPECT_TRUE(significant);
  }
}

TEST(CliShareCertainty, PromptsOfAGroupAreOneTest) {
  for (const Words& command : kCommands) {
    const std::string pairs = swapped_answers(24, /*corrupted=*/true, "template ");
    for (const json& row : rows_of_prompts(command, pairs)) {
      // 12 groups: multiples of 2^−11.
      const double patterns = row["share_p_value"].get<double>() * 2048;
      EXPECT_NEAR(patterns, std::round(patterns), 1e-9);
    }
  }
}

TEST(CliShareCertainty, FewPromptsHaveNoIntervals) {
  for (const Words& command : kCommands) {
    for (const bool corrupted : {false, true}) {
      for (const json& row : rows_of_prompts(command, swapped_answers(4, corrupted))) {
        EXPECT_TRUE(row["share_low"].is_null());
        EXPECT_TRUE(row["share_significant"].is_null());
        EXPECT_GE(row["share_p_value"].get<double>(), std::exp2(-3));
      }
    }
  }
}

TEST(CliShareCertainty, TablesMarkWhatIsNotSignificant) {
  for (const Words& command : kCommands) {
    const TempFolder folder;
    const std::string prompts =
        folder.write("prompts.jsonl", swapped_answers(14, /*corrupted=*/true)).string();
    const std::string table = output_of(
        command + Words{source_path("examples/induction-gpt2"), "--quiet", "--prompts", prompts});
    EXPECT_TRUE(contains(table, "·: not significant")) << table;
    EXPECT_TRUE(contains(table, "· +") || contains(table, "· -")) << table;
  }
}

}  // namespace
}  // namespace attnscope::test
