// Calibration texts of plans: short texts, and the notes about them.
#include "tests/features/plan/plan_case.h"

namespace attnscope::test {
namespace {

class PlanTexts : public PlanCase {
 protected:
  /// The first `characters` characters of the text that the other tests use.
  std::string text_of(const std::string& name, std::size_t characters) const {
    return scratch_.write(name, verses().substr(0, characters)).string();
  }

  RunResult run_plan(const std::string& text, const Words& more) const {
    const RunResult run =
        run_attnscope(Words{"plan", kPlanExample, "--calibration-file", text} + more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  }
};

const Words kToWidth = {"--set", "mlp=500", "--format", "json"};

TEST_F(PlanTexts, RunsAndNotesATextShorterThanOneWindow) {
  const RunResult run = run_plan(text_of("short.txt", 300), kToWidth);
  EXPECT_EQ(json::parse(run.out)["parameters"]["sequences"], 1);
  const std::string before = "the calibration text has ",
                    after = " tokens, fewer than the 512 inputs";
  const std::size_t begin = run.err.find(before), end = run.err.find(after);
  ASSERT_TRUE(begin < end && end != std::string::npos) << run.err;
  const int tokens = std::stoi(run.err.substr(begin + before.size()));
  EXPECT_GT(tokens, 20);
  EXPECT_LT(tokens, 256);
}

TEST_F(PlanTexts, NotesFewerTokensThanInputs) {
  const RunResult run = run_plan(text_, kToWidth + Words{"--length", "32", "--sequences", "3"});
  EXPECT_TRUE(contains(run.err, "the calibration text has 96 tokens, fewer than the 512 inputs"))
      << run.err;
  const RunResult enough = run_plan(text_, kToWidth + Words{"--length", "32", "--sequences", "16"});
  EXPECT_FALSE(contains(enough.err, "fewer than")) << enough.err;
}

TEST_F(PlanTexts, ThatAreFittedToAreNotHeldOut) {
  const std::string note = "the evaluation text is the same as the calibration text";
  const std::string text = text_of("text.txt", 2000), copy = text_of("copy.txt", 2000),
                    other = text_of("other.txt", 1900);
  const auto said = [&](const std::string& held_out) {
    return run_plan(text, kToWidth + Words{"--eval-file", held_out, "--length", "64"}).err;
  };
  EXPECT_TRUE(contains(said(text), note));
  EXPECT_TRUE(contains(said(copy), note));  // another file with the same tokens
  EXPECT_FALSE(contains(said(other), note));
}

/// Evaluation windows have the model's context length even if the calibration text is shorter.
TEST_F(PlanTexts, AcceptsAShortCalibrationTextWithALongEvaluationText) {
  const std::string brief = text_of("brief.txt", 400), longer = text_of("longer.txt", 4000);
  const Words texts = {"--calibration-file", brief, "--eval-file", longer, "--quiet"};
  for (const Words& target : {Words{"--set", "mlp=500"}, Words{"--set", "low-rank=0.q:20,3.up:40"},
                              Words{"--set", "remove-layers=2"}}) {
    SCOPED_TRACE(target.back());
    std::filesystem::remove_all(path("out"));
    output_of(Words{"plan", kPlanExample} + texts + target + Words{"-o", path("plan.json")});
    const json plan = json::parse(read_file(path("plan.json")))["models"][0]["plan"];
    const RunResult run = run_attnscope(
        Words{"shrink", kPlanExample, path("plan.json"), "-o", path("out"), "--format", "json"} +
        texts);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json made = json::parse(run.out)["models"][0]["compressed"];
    EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4);
  }
}

/// The same for a text whose last tenth is held out for evaluation.
TEST_F(PlanTexts, MeasuresAShortTextAsPlanned) {
  const std::string brief = text_of("brief.txt", 400);
  const Words texts = {"--calibration-file", brief, "--quiet"};
  output_of(Words{"plan", kPlanExample, "--set", "mlp=500", "-o", path("plan.json")} + texts);
  const json plan = json::parse(read_file(path("plan.json")))["models"][0]["plan"];
  const json made = json::parse(output_of(
      Words{"shrink", kPlanExample, path("plan.json"), "-o", path("out"), "--format", "json"} +
      texts))["models"][0]["compressed"];
  EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4);
}

TEST_F(PlanTexts, RejectsTextsWithoutTokens) {
  for (const std::size_t characters : {0u, 1u}) {
    const RunResult run = run_attnscope(
        Words{"plan", kPlanExample, "--calibration-file", text_of("none.txt", characters)} +
        kToWidth);
    EXPECT_EQ(run.exit_code, kUsage) << run.err;
    EXPECT_TRUE(contains(run.err, "is too short for calibration and evaluation") ||
                contains(run.err, "is empty"))
        << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
