// `lens` and `ablate` with a mask of scored positions, compared with float64 transformers with
// hooks (tools/golden_score_positions.py).
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

class ScoredGolden : public testing::TestWithParam<std::string> {};

TEST_P(ScoredGolden, LossesAndEffectsEqualTransformers) {
  const json golden = intervention_golden("scored").at(GetParam());
  const TempFolder folder;
  std::string mask;
  for (const json& sequence : golden["mask"]) {
    for (const json& flag : sequence) mask += flag == 1 ? '1' : '0';
    mask += '\n';
  }
  const Words text = windows_of(golden, folder) +
                     Words{"--score-positions", folder.write("mask.txt", mask).string()};
  const json lens = report_of(Words{"lens"} + text)["rows"];
  expect_rows(lens, golden["lens"], 1e-5, 1e-4);
  EXPECT_NEAR(lens.back()["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const json rows = report_of(Words{"ablate"} + text + Words{"--ablation", how})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
    EXPECT_NEAR(rows[0]["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ScoredGolden, testing::Values("llama", "gpt_neox", "mixtral"),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace attnscope::test
