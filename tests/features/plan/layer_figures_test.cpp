// Figures of layers and their components in plans, compared with float64 NumPy and transformers.
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

/// Rows of a depth plan, calibrated and measured on the text of the golden file.
json layer_rows(const json& golden) {
  const TempFolder folder;
  Words text = windows_of(golden, folder);
  text[1] = "--calibration-token-file";
  const RunResult run = run_attnscope(
      Words{"plan"} + text +
      Words{"--eval-file", text[2], "--set", "remove-layers=1", "--format", "json", "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json::parse(run.out)["rows"];
}

/// tools/golden_plan_layers.py: losses without each layer, attention and MLP, and influences.
TEST(PlanLayers, EqualNumPy) {
  const json all = json::parse(read_file(data_path("plan/layers.json")));
  for (const auto& [name, wanted] : all.items()) {
    SCOPED_TRACE(name);
    expect_rows(layer_rows(intervention_golden(name)), wanted, 1e-5, 1e-4);
  }
}

/// tools/golden_interventions.py. Neither model has biases, which zero ablation would keep.
TEST(PlanLayers, LossIncreasesEqualZeroAblationInTransformers) {
  for (const char* name : {"gemma2", "mixtral"}) {
    SCOPED_TRACE(name);
    const json golden = intervention_golden(name);
    const json rows = layer_rows(golden);
    std::size_t compared = 0;
    for (const json& part : golden["ablate"]["zero"]) {
      if (part["component"] == "head") continue;
      const json& row = rows.at(part["layer"].get<std::size_t>());
      const std::string field = part["component"].get<std::string>() + "_loss_increase";
      expect_near(row.at(field), part["loss_increase"], 1e-5, 1e-4);
      ++compared;
    }
    EXPECT_EQ(compared, 4u);
  }
}

/// If attention and MLP read the same residual stream, there is no state between them.
TEST(PlanLayers, ParallelLayersHaveNoInfluenceOfComponents) {
  const json rows = layer_rows(intervention_golden("gpt_neox"));
  for (const json& row : rows) {
    EXPECT_TRUE(row["block_influence"].is_number());
    EXPECT_TRUE(row["attention_influence"].is_null());
    EXPECT_TRUE(row["mlp_influence"].is_null());
    EXPECT_TRUE(row["attention_loss_increase"].is_number());
    EXPECT_TRUE(row["mlp_loss_increase"].is_number());
  }
}

}  // namespace
}  // namespace attnscope::test
