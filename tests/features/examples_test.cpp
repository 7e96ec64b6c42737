// Trained models: the bundled examples, and other models if they are available.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// Checks that every measure is that of a trained matrix: neither zero nor full-rank noise.
void expect_trained(const json& report) {
  ASSERT_FALSE(report["rows"].empty());
  EXPECT_TRUE(report["skipped"].empty());
  for (const json& row : report["rows"]) {
    EXPECT_GT(row["frobenius_norm"], 0) << row;
    EXPECT_GT(row["stable_rank"], 1) << row;
    EXPECT_LT(row["stable_rank"], row["max_possible_rank"]) << row;
    EXPECT_GE(row["energy_rank"]["0.9"], 1) << row;
    EXPECT_LT(row["energy_rank"]["0.9"], row["max_possible_rank"]) << row;
    EXPECT_LE(row["energy_rank"]["0.9"], row["energy_rank"]["0.99"]) << row;
  }
}

TEST(CliExamples, TheLlamaIsAnalyzed) {
  const std::string path = source_path("examples/shakespeare-llama");
  const json report = report_of({"spectrum", path, "--per-head"});
  expect_trained(report);
  EXPECT_EQ(report["rows"].size(), 6u * (7 + 2 * 6 + 2 * 2));
  const json facts = report_of({"info", path})["models"][0];
  EXPECT_EQ(facts["architecture"], "llama");
  EXPECT_EQ(facts["layers"], 6);
  EXPECT_EQ(facts["heads"], 6);
  EXPECT_EQ(facts["kv_heads"], 2);
  EXPECT_EQ(facts["tied_embedding"], true);
  const Words lines = lines_of(output_of({"spectrum", path}));
  EXPECT_TRUE(lines.front().starts_with("shakespeare-llama")) << lines.front();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.starts_with("total"); }),
            2)  // attention and the parallel MLP
      << lines.front();
}

TEST(CliExamples, TheGpt2IsAnalyzed) {
  const std::string path = source_path("examples/shakespeare-gpt2");
  expect_trained(report_of({"spectrum", path, "--per-head"}));
  EXPECT_EQ(report_of({"info", path})["models"][0]["architecture"], "gpt2");
}

/// Models that are not part of the repository. Without them the tests are skipped.
class OtherModels : public testing::Test {
 protected:
  static std::string path(const std::string& name) {
    return source_path("../shared/models/" + name);
  }
  static bool absent(const std::string& name) { return !fs::exists(path(name)); }
};

TEST_F(OtherModels, Stories260K) {
  if (absent("stories260K")) GTEST_SKIP() << "no " << path("stories260K");
  const json info = report_of({"info", path("stories260K")});
  const json& facts = info["models"][0];
  EXPECT_EQ(facts["architecture"], "llama");
  EXPECT_EQ(facts["parameters"], 260032);  // the head is tied to the embedding and counted once
  EXPECT_EQ(facts["tied_embedding"], true);
  EXPECT_EQ(facts["layers"], 5);
  EXPECT_EQ(facts["heads"], 8);
  EXPECT_EQ(facts["kv_heads"], 4);
  EXPECT_EQ(facts["hidden_size"], 64);
  EXPECT_EQ(facts["kv_cache_bytes_per_token"], 2 * 5 * 4 * (8 + 8));
  const json report = report_of({"spectrum", path("stories260K"), "--per-head"});
  expect_trained(report);
  EXPECT_EQ(report["rows"].size(), 5u * (7 + 2 * 8 + 2 * 4));
}

TEST_F(OtherModels, CappGpt2) {
  if (absent("capp-gpt2")) GTEST_SKIP() << "no " << path("capp-gpt2");
  const json facts = report_of({"info", path("capp-gpt2")})["models"][0];
  EXPECT_EQ(facts["architecture"], "gpt2");
  EXPECT_EQ(facts["tied_embedding"], true);
  expect_trained(report_of({"spectrum", path("capp-gpt2"), "--per-head"}));
}

TEST_F(OtherModels, RxnmapperAlbert) {
  if (absent("rxnmapper-albert")) GTEST_SKIP() << "no " << path("rxnmapper-albert");
  const json facts = report_of({"info", path("rxnmapper-albert")})["models"][0];
  EXPECT_EQ(facts["architecture"], "albert");
  EXPECT_EQ(facts["layers"], 12);
  EXPECT_EQ(facts["heads"], 8);
  EXPECT_EQ(facts["tied_embedding"], true);
  expect_trained(report_of({"spectrum", path("rxnmapper-albert"), "--per-head"}));
}

}  // namespace
}  // namespace attnscope::test
