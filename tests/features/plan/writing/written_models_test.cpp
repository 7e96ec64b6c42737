// Models written by shrink after removing a layer. Their files must keep what depends on the index
// of the remaining layers, so that the loss equals that of the original model run past the layer.
#include "tests/features/plan/plan_case.h"
#include "tests/features/plan/plan_of_tokens.h"
#include "tests/support/golden_variants.h"

namespace attnscope::test {
namespace {

class PlanWithoutLayers : public PlanOfTokens, public ::testing::WithParamInterface<Variant> {};

TEST_P(PlanWithoutLayers, EqualsTheModelRunPastTheRemovedLayers) {
  const std::string folder = path("model");
  scratch_.write("model/config.json", config_of(GetParam()).dump());
  std::filesystem::create_symlink(GetParam().folder() / "model.safetensors",
                                  folder + "/model.safetensors");
  for (const int layer : {0, 1}) {
    const std::string without = "remove-layers=" + std::to_string(layer);
    expect_written_as_planned(folder, 48, {"--set", without});
    // The loss increase of each layer is measured on the model run past that layer.
    const json plan = json::parse(read_file(path("plan.json")));
    const json& facts = plan["models"][0]["plan"];
    const json& row = plan["rows"].at(static_cast<std::size_t>(layer));
    const double past = facts["mean_nll_before"].get<double>() + row["loss_increase"].get<double>();
    EXPECT_NEAR(facts["mean_nll_after"].get<double>(), past, 1e-3) << without;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Configs, PlanWithoutLayers,
    ::testing::Values(Variant{"gpt2", "inverse-layer"}, Variant{"gpt_neo"},
                      Variant{"gpt_neo", "", "old"}, Variant{"gpt_neo", "order"},
                      Variant{"smollm3", "list-absent"}, Variant{"smollm3", "window"},
                      Variant{"minicpm3", "depth-absent"}, Variant{"glm4_moe", "", "old"},
                      Variant{"qwen2", "window-layers"}, Variant{"qwen2", "window-layers", "old"},
                      Variant{"gemma2", "types-absent"}, Variant{"gemma3", "pattern"},
                      Variant{"gemma3", "pattern-absent"}, Variant{"gemma3", "", "old"}),
    name_of_case);

using PlanToMla = PlanCase;

/// Below 3/8 of the cache, only rotary key dimensions are kept.
TEST_F(PlanToMla, ASmallCacheKeepsOnlyRotaryKeys) {
  output_of(plan(kPlanExample, {"--method", "mla", "--kv-bytes", "0.25", "-o", path("plan.json")}));
  const json plan = json::parse(read_file(path("plan.json")))["models"][0]["plan"];
  EXPECT_LE(plan["kv_cache_bytes_per_token_after"].get<double>(), 0.25 * 1536);
  const json made = report_of(shrink(kPlanExample, "plan.json", "out"))["models"][0]["compressed"];
  EXPECT_EQ(made["parameters"], plan["parameters_after"]);
  EXPECT_EQ(made["kv_cache_bytes_per_token"], plan["kv_cache_bytes_per_token_after"]);
  EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4);
  EXPECT_EQ(json::parse(read_file(path("out") + "/config.json"))["qk_nope_head_dim"], 0);
}

}  // namespace
}  // namespace attnscope::test
