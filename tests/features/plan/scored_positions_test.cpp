// Plans whose losses are over selected positions, compared with the losses that `lens` measures
// there.
#include <cmath>

#include "tests/features/plan/plan_of_tokens.h"

namespace attnscope::test {
namespace {

constexpr std::size_t kExampleTokens = 8;

/// 40 examples of 8 tokens each. The last four are held out.
class PlanScored : public PlanOfTokens {
 protected:
  PlanScored() : tokens_(random_tokens(320, 48)) {
    shard_ = scratch_.write("all.bin", shard_bytes(tokens_)).string();
    const auto held = tokens_.end() - 4 * static_cast<std::ptrdiff_t>(kExampleTokens);
    held_ = scratch_.write("held.bin", shard_bytes({held, tokens_.end()})).string();
  }

  Words plan(const Words& positions) const {
    return Words{"plan", model_, "--calibration-token-file", shard_, "--length", "8", "--quiet"} +
           positions;
  }

  /// Loss of the held-out examples by another code path, which sums in float64.
  double loss(const std::string& model, const Words& positions) const {
    const Words words = {"lens", model, "--token-file", held_, "--length", "8"};
    return report_of(words + positions)["rows"].back()["loss"];
  }

  const std::string model_ = tiny_model("llama");
  std::vector<std::uint16_t> tokens_;
  std::string shard_, held_;
};

/// Two float32 passes with different batches.
constexpr double kPlanLossTolerance = 1e-5;

TEST_F(PlanScored, LossesAreOverTheSelectedPositions) {
  std::set<double> losses;
  for (const char* positions : {"last", "2-4", "1,7"}) {
    SCOPED_TRACE(positions);
    const Words at = {"--score-positions", positions};
    const json comparison = report_of(plan(at));
    const double before = loss(model_, at);
    EXPECT_NEAR(comparison["models"][0]["mean_nll"].get<double>(), before, kPlanLossTolerance);
    EXPECT_EQ(comparison["parameters"]["score_positions"], positions);
    losses.insert(before);
    for (const Words& target :
         {Words{"--set", "remove-layers=0"}, Words{"--method", "low-rank", "--keep", "0.7"},
          Words{"--set", "mlp=16"}}) {
      SCOPED_TRACE(command_text(target));
      const std::string file = path("plan.json"), out = path("out");
      std::filesystem::remove_all(out);
      output_of(plan(at) + target + Words{"-o", file});
      const json planned = json::parse(read_file(file))["models"][0]["plan"];
      const json made = report_of(
          {"shrink", model_, file, "--calibration-token-file", shard_, "-o", out, "--quiet"});
      EXPECT_NEAR(planned["mean_nll_before"].get<double>(), before, kPlanLossTolerance);
      EXPECT_NEAR(made["models"][0]["compressed"]["mean_nll"].get<double>(),
                  planned["mean_nll_after"].get<double>(), 1e-4);
      EXPECT_NEAR(planned["mean_nll_after"].get<double>(), loss(out, at), 1e-4);
    }
  }
  EXPECT_EQ(losses.size(), 3U);
}

TEST_F(PlanScored, LossesWithoutLayersAreOverTheSelectedPositions) {
  const Words at = {"--score-positions", "3,5"};
  const json report = report_of(plan(at) + Words{"--method", "depth", "--set", "remove-layers=1"});
  for (const json& row : report["rows"]) {
    const std::string out = path("out");
    std::filesystem::remove_all(out);
    const std::string set = "remove-layers=" + std::to_string(row["layer"].get<int>());
    output_of(plan(at) + Words{"--set", set, "-o", path("plan.json")});
    output_of({"shrink", model_, path("plan.json"), "--calibration-token-file", shard_, "-o", out,
               "--quiet"});
    EXPECT_NEAR(row["loss_increase"].get<double>(), loss(out, at) - loss(model_, at), 1e-4)
        << row.dump();
  }
}

TEST_F(PlanScored, AMaskCoversTheWholeTextAndIsPassedAgainToShrink) {
  std::string mask;
  for (std::size_t example = 0; example < 40; ++example) {
    mask += example % 2 == 0 ? "00010001\n" : "01000000\n";
  }
  const std::string file = scratch_.write("mask.txt", mask).string();
  const std::string of_held = scratch_.write("held.txt", mask.substr(0, 4 * 9)).string();
  const Words at = {"--score-positions", file};
  output_of(plan(at) + Words{"--set", "remove-layers=0", "-o", path("plan.json")});
  const json report = json::parse(read_file(path("plan.json")));
  EXPECT_EQ(report["parameters"]["score_positions"], "mask.txt");
  EXPECT_NEAR(report["models"][0]["plan"]["mean_nll_before"].get<double>(),
              loss(model_, {"--score-positions", of_held, "--consecutive"}), kPlanLossTolerance);
  const Words shrink = {"shrink", model_, path("plan.json"), "--calibration-token-file",
                        shard_,   "-o",   path("out"),       "--quiet"};
  const RunResult without = run_attnscope(shrink);
  EXPECT_EQ(without.exit_code, kUsage);
  EXPECT_TRUE(contains(without.err, "missing mask file: the plan was made with mask.txt"))
      << without.err;
  const RunResult other = run_attnscope(shrink + Words{"--score-positions", "last"});
  EXPECT_EQ(other.exit_code, kBadFile);
  EXPECT_TRUE(contains(other.err, "belongs to another text")) << other.err;
  output_of(shrink + at);
  const RunResult two = run_attnscope(plan(at) + Words{"--eval-file", held_});
  EXPECT_EQ(two.exit_code, kUsage);
  EXPECT_TRUE(contains(two.err, "a mask covers one file")) << two.err;
}

TEST_F(PlanScored, RejectsPositionsThatCannotBeScored) {
  const auto refused = [&](const Words& words, const std::string& says) {
    const RunResult run = run_attnscope(plan(words));
    EXPECT_EQ(run.exit_code, kUsage) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
  };
  refused({"--score-positions", "8"}, "past the end of every example (longest: 8 tokens)");
  refused({"--score-positions", "0"}, "selects no predicted token");
  refused({"--lines"}, "--lines");
  std::string fitted;
  for (std::size_t example = 0; example < 40; ++example) {
    fitted += example < 36 ? "00010001\n" : "00000000\n";
  }
  refused({"--score-positions", scratch_.write("fitted.txt", fitted).string()},
          "selects no predicted token");
}

TEST_F(PlanScored, TreatsLinesAsExamples) {
  const std::string model = source_path("examples/shakespeare-llama");
  std::string text, held;
  for (int line = 0; line < 60; ++line) {
    const std::string words = "ROMEO: What light " + std::to_string(line) + " breaks?";
    text += words + "\n\n";
    if (line >= 54) held += words + "\n";
  }
  const std::string file = scratch_.write("lines.txt", text).string();
  const std::string held_file = scratch_.write("held.txt", held).string();
  for (const Words& at : {Words{}, Words{"--score-positions", "last"}}) {
    const json plan = report_of(Words{"plan", model, "--calibration-file", file, "--lines", "--set",
                                      "remove-layers=2", "--quiet"} +
                                at);
    EXPECT_EQ(plan["parameters"]["lines"], true);
    EXPECT_EQ(plan["parameters"]["eval_windows"], 6);
    const json lens = report_of(Words{"lens", model, "--text-file", held_file, "--lines"} + at);
    EXPECT_NEAR(plan["models"][0]["plan"]["mean_nll_before"].get<double>(),
                lens["rows"].back()["loss"].get<double>(), kPlanLossTolerance);
  }
}

}  // namespace
}  // namespace attnscope::test
