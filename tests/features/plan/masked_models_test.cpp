// Plans of fill-mask models.
#include "attnscope/base/text.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class PlanMasked : public ::testing::Test {
 protected:
  /// Builds a tiny BERT with a word tokenizer that has a mask token, and a text for it.
  PlanMasked() {
    for (const char* file : {"config.json", "model.safetensors"}) {
      fs::copy(data_path(std::string("forward/bert/") + file), scratch_.path() / file);
    }
    std::ifstream config(scratch_.path() / "config.json");
    const std::int64_t words = json::parse(config)["vocab_size"];
    json vocabulary = {{"[UNK]", 0}, {"[MASK]", 1}};
    std::string text;
    for (std::int64_t id = 2; id < words; ++id) vocabulary["w" + std::to_string(id)] = id;
    for (std::int64_t at = 0; at < 400; ++at) {
      text += "w" + std::to_string(2 + at * at % (words - 2)) + " ";
    }
    const json mask = {
        {"id", 1},         {"content", "[MASK]"}, {"special", true},    {"single_word", false},
        {"lstrip", false}, {"rstrip", false},     {"normalized", false}};
    scratch_.write(
        "tokenizer.json",
        json{{"version", "1.0"},
             {"added_tokens", json::array({mask})},
             {"pre_tokenizer", {{"type", "Whitespace"}}},
             {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}}}
            .dump());
    scratch_.write("tokenizer_config.json", R"({"mask_token": "[MASK]"})");
    text_ = scratch_.write("text.txt", text).string();
  }

  RunResult planned(const Words& more,
                    const Words& target = {"--method", "low-rank", "--keep", "0.8"}) const {
    Words words = {"plan", scratch_.path().string(), "--calibration-file", text_, "--quiet"};
    words.insert(words.end(), target.begin(), target.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_attnscope(words);
  }

  TempFolder scratch_;
  std::string text_;
};

TEST_F(PlanMasked, MeasuresAtMaskedTokens) {
  const RunResult run = planned({"--length", "8", "--probe-tokens", "64", "--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json report = json::parse(run.out);
  bool any = false;
  for (const json& row : report["rows"]) any = any || row["sensitivity"] > 0.0;
  EXPECT_TRUE(any);
}

/// Components are measured as complete models whose output projections are zero.
TEST_F(PlanMasked, MeasuresLayersAndTheirComponents) {
  const RunResult run =
      planned({"--length", "8", "--format", "json"}, {"--set", "remove-layers=0"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json report = json::parse(run.out);
  for (const json& row : report["rows"]) {
    for (const char* part : {"block", "attention", "mlp"}) {
      const double influence = row.at(part + std::string("_influence"));
      EXPECT_TRUE(influence > 0 && influence < 2) << row.dump();
    }
    EXPECT_NE(row["attention_loss_increase"], row["loss_increase"]);
    EXPECT_NE(row["mlp_loss_increase"], row["loss_increase"]);
    EXPECT_TRUE(row["attention_loss_increase"].is_number() && row["mlp_loss_increase"].is_number())
        << row.dump();
  }
}

/// With one scored token per window, that token is masked, as in `lens`.
TEST_F(PlanMasked, MasksScoredTokens) {
  const std::vector<std::string> words = split(read_file(text_), ' ');
  std::string held;  // the last five of 50 windows
  for (std::size_t at = 360; at < 400; ++at) held += words[at] + " ";
  const std::string file = scratch_.write("held.txt", held).string();
  const Words at = {"--length", "8", "--score-positions", "3"};
  const RunResult run = planned(at + Words{"--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json plan = json::parse(run.out)["models"][0]["plan"];
  const json lens = report_of(Words{"lens", scratch_.path().string(), "--text-file", file} + at);
  EXPECT_EQ(lens["rows"].back()["predicted"], 5);
  EXPECT_NEAR(plan["mean_nll_before"].get<double>(), lens["rows"].back()["loss"].get<double>(),
              1e-5);
}

TEST_F(PlanMasked, RejectsWindowsWithoutMasks) {
  const RunResult length = planned({"--length", "4"});
  EXPECT_EQ(length.exit_code, kUsage);
  EXPECT_TRUE(contains(length.err, "--length: 4 is not from 5 to")) << length.err;
  const RunResult probed = planned({"--length", "8", "--probe-tokens", "4"});
  EXPECT_EQ(probed.exit_code, kUsage);
  EXPECT_TRUE(contains(probed.err, "--probe-tokens: too few tokens to mask one")) << probed.err;
}

}  // namespace
}  // namespace attnscope::test
