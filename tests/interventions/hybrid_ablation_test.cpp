// `ablate` on models whose layers have mixers in place of attention, or next to it.
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

const Words kText = {"--tokens", "1,2,3,4,5,6,7,8"};

std::string hybrid(const std::string& name) { return data_path("forward/" + name); }

/// The components of each layer in the order of the rows, "0 mixer, 0 mlp". Heads are counted.
std::string components_of(const json& rows) {
  std::string out;
  for (const json& row : rows) {
    if (row["component"] == "head" && row["head"] != 0) continue;
    out +=
        (out.empty() ? "" : ", ") + row["layer"].dump() + " " + row["component"].get<std::string>();
  }
  return out;
}

class HybridAblation : public testing::TestWithParam<std::string> {};

TEST_P(HybridAblation, EqualsTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const json rows = report_of(Words{"ablate"} + windows_of(golden, folder) +
                                Words{"--ablation", how, "--layers", golden["layers"]})["rows"];
    expect_rows(rows, wanted, 1e-5, 0);
    EXPECT_NEAR(rows[0]["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
    for (const json& row : rows) EXPECT_TRUE(row["direct_effect"].is_null());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HybridAblation,
                         testing::Values("bamba", "falcon_h1", "granitemoehybrid", "jamba",
                                         "kimi_linear", "lfm2", "lfm2_moe", "nemotron_h", "qwen3_5",
                                         "qwen3_next", "recurrent_gemma"),
                         [](const auto& golden) { return golden.param; });

TEST(HybridComponents, AreThoseOfEachLayer) {
  const struct {
    std::string model;
    Words asked;
    std::string found;
  } cases[] = {{"bamba", {}, "0 mixer, 0 mlp, 1 attention, 1 mlp, 1 head, 2 mixer, 2 mlp"},
               {"bamba",
                {"--components", "layers", "--layers", "-2-"},
                "1 attention, 1 mlp, 2 mixer, 2 mlp"},
               {"falcon_h1", {"--layers", "1"}, "1 attention, 1 mixer, 1 mlp, 1 head"},
               {"nemotron_h", {"--components", "layers"}, "0 mixer, 1 mlp, 2 attention, 3 mixer"}};
  for (const auto& [model, asked, found] : cases) {
    SCOPED_TRACE(model + " " + command_text(asked));
    EXPECT_EQ(components_of(report_of(Words{"ablate", hybrid(model)} + kText + asked)["rows"]),
              found);
  }
}

TEST(HybridComponents, NotesNameTheOtherLayers) {
  const struct {
    std::string model, components, found, note;
  } cases[] = {{"bamba", "mixer", "0 mixer, 2 mixer", "layer 1 has no mixer other than attention"},
               {"bamba", "heads", "1 head", "layers 0, 2 have Mamba-2 in place of attention"},
               {"nemotron_h", "mlp", "1 mlp", "layers 0, 2-3 have none of these components"}};
  for (const auto& [model, components, found, note] : cases) {
    SCOPED_TRACE(model + " " + components);
    const RunResult run = run_attnscope(Words{"ablate", hybrid(model)} + kText +
                                        Words{"--components", components, "--format", "json"});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, note)) << run.err;
    EXPECT_EQ(components_of(json::parse(run.out)["rows"]), found);
  }
}

TEST(HybridComponents, RefusesLayersWithoutThem) {
  expect_refusal(Words{"ablate", kShakespeare, "--components", "mixer"} + kText, kUsage,
                 {"--components", "layers 0-5 have no mixer other than attention"});
  expect_refusal(
      Words{"ablate", hybrid("nemotron_h"), "--components", "attention,mixer", "--layers", "1"} +
          kText,
      kUsage, {"--components", "layer 1 has none of these components"});
  expect_refusal(Words{"ablate", hybrid("bamba"), "--components", "heads", "--layers", "0"} + kText,
                 kUsage, {"--layers", "layer 0 has Mamba-2 instead of attention"});
}

TEST(HybridComponents, TheTableHasAColumnForMixers) {
  const Words asked = kText + Words{"--components", "layers"};
  EXPECT_TRUE(contains(run_attnscope(Words{"ablate", hybrid("falcon_h1")} + asked).out,
                       "layer  attention  mixer"));
  EXPECT_FALSE(contains(run_attnscope(Words{"ablate", kShakespeare} + asked).out, "mixer"));
}

}  // namespace
}  // namespace attnscope::test
