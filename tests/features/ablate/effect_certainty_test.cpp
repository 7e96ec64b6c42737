// Intervals, p-values and significance of effects on prompts. Statistics:
// tests/numerics/statistics.
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

/// Prompts for examples/induction-gpt2: a random block, then its beginning again. Corrupted prompts
/// swap the two answers in the block.
std::string repeated_blocks(int prompts, const std::function<std::string(int)>& group = {}) {
  std::string lines;
  for (int prompt = 0; prompt < prompts; ++prompt) {
    std::vector<int> block;
    for (int at = 0; at < 8; ++at) block.push_back((7 * prompt + 11 * at * at + 3 * at) % 64);
    for (std::size_t at = 0; at < block.size(); ++at) {  // distinct tokens
      while (
          std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(at), block[at])) {
        block[at] = (block[at] + 1) % 64;
      }
    }
    json clean = block, corrupted = block;
    std::swap(corrupted[2], corrupted[5]);
    for (json* text : {&clean, &corrupted}) {
      for (const int at : {0, 1}) text->push_back(block[static_cast<std::size_t>(at)]);
    }
    json line = {
        {"clean", clean}, {"corrupted", corrupted}, {"correct", block[2]}, {"incorrect", block[5]}};
    if (group) line["group"] = group(prompt);
    lines += line.dump() + "\n";
  }
  return lines;
}

Words patching_of(const TempFolder& folder, const std::string& prompts) {
  return {"ablate", source_path("examples/induction-gpt2"), "--prompts",
          folder.write("prompts.jsonl", prompts).string()};
}

TEST(CliEffectCertainty, FindsTheHeadsThatMatter) {
  const TempFolder folder;
  const json rows =
      report_of(patching_of(folder, repeated_blocks(12)) + Words{"--components", "heads"})["rows"];
  ASSERT_EQ(rows.size(), 8U);
  bool any = false;
  for (const json& row : rows) {
    EXPECT_EQ(row["tests"], 8);
    const double p = row["denoising_p_value"], effect = row["denoising_effect"];
    EXPECT_GE(p, std::exp2(-11));
    EXPECT_LE(p, 1);
    EXPECT_LE(row["denoising_effect_low"].get<double>(), effect);
    EXPECT_GE(row["denoising_effect_high"].get<double>(), effect);
    if (row["denoising_significant"] == true) {
      any = true;
      EXPECT_LE(p, 0.05);
      EXPECT_GT(std::abs(effect), row["denoising_effect_error"].get<double>());
    }
  }
  EXPECT_TRUE(any);
}

TEST(CliEffectCertainty, AppliesToPositionsAndPaths) {
  const TempFolder folder;
  const Words prompts = patching_of(folder, repeated_blocks(12));
  for (const Words& more : {Words{"--patch-positions", "last", "--metric", "probability"},
                            Words{"--sender", "each-layer"}}) {
    const json rows = report_of(prompts + more)["rows"];
    ASSERT_FALSE(rows.empty());
    for (const json& row : rows) {
      EXPECT_EQ(row["tests"], rows.size());
      EXPECT_TRUE(row["noising_p_value"].is_number());
      EXPECT_TRUE(row["noising_significant"].is_boolean());
    }
  }
}

TEST(CliEffectCertainty, PromptsOfAGroupAreOneTest) {
  const TempFolder folder;
  const auto pairs = [](int prompt) { return "template " + std::to_string(prompt / 2); };
  const json rows = report_of(patching_of(folder, repeated_blocks(24, pairs)) +
                              Words{"--components", "heads"})["rows"];
  for (const json& row : rows) {
    // 12 groups: multiples of 2^−11.
    const double patterns = row["noising_p_value"].get<double>() * 2048;
    EXPECT_NEAR(patterns, std::round(patterns), 1e-9);
  }
}

TEST(CliEffectCertainty, SaysHowManyPromptsAreNeeded) {
  const TempFolder folder;
  const RunResult run = run_attnscope(patching_of(folder, repeated_blocks(4)) +
                                      Words{"--components", "heads", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err,
                       "4 independent prompts cannot be significant among 8 tests; at "
                       "least 9 independent prompts are needed"))
      << run.err;
  const json report = json::parse(run.out);
  EXPECT_TRUE(report["rows"][0]["denoising_significant"].is_null());
  EXPECT_TRUE(report["rows"][0]["denoising_effect_low"].is_null());
  EXPECT_TRUE(report["rows"][0]["denoising_p_value"].is_number());
}

TEST(CliEffectCertainty, RefusesGroupsOfSomePrompts) {
  const TempFolder folder;
  const std::string line = R"({"clean": [1, 2], "correct": 3, "incorrect": 4)";
  const struct {
    std::string prompts, problem;
  } cases[] = {{line + "}\n" + line + R"(, "group": 1})", "line 2: has a 'group'"},
               {line + R"(, "group": 1.5})", "'group' is neither a text nor a number"}};
  for (const auto& [prompts, problem] : cases) {
    const RunResult run = run_attnscope(patching_of(folder, prompts));
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, problem)) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
