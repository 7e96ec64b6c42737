// Commands on models whose layers differ in shape.
#include <cmath>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

const std::string kGemma4 = "forward/gemma4", kSame = "forward/gemma4-same-matrix";

json only_row(const Words& arguments) {
  const json rows = report_of(arguments + Words{"--values"})["rows"];
  EXPECT_EQ(rows.size(), 1u);
  json row = rows[0];
  for (const char* name : {"layer", "matrix", "head"}) row.erase(name);
  return row;
}

TEST(CliLayerShapes, AMatrixEqualsItsTensor) {
  const struct {
    std::string model;
    const char *role, *tensor, *layer;
  } cases[] = {{kGemma4, "q", "q", "1"}, {kGemma4, "k", "k", "1"}, {kGemma4, "o", "o", "3"},
               {kSame, "v", "k", "1"},   {kSame, "v", "v", "0"},   {kSame, "o", "o", "1"}};
  for (const auto& [model, role, tensor, layer] : cases) {
    SCOPED_TRACE(model + " " + role);
    const std::string name =
        "model.layers." + std::string(layer) + ".self_attn." + tensor + "_proj.weight";
    EXPECT_EQ(only_row({"spectrum", data_path(model), "--matrix", role, "--layers", layer}),
              only_row({"spectrum", data_path(model), "--tensor", name}));
  }
}

TEST(CliLayerShapes, SplitsHeadsByTheShapeOfTheLayer) {
  const json rows =
      report_of({"spectrum", data_path(kGemma4), "--matrix", "q,k", "--per-head"})["rows"];
  std::map<std::pair<int, std::string>, int> heads;
  for (const json& row : rows) {
    if (row["head"].is_null()) continue;
    ++heads[{row["layer"].get<int>(), row["matrix"].get<std::string>()}];
    EXPECT_EQ(row["shape"][0], row["layer"].get<int>() % 2 == 1 ? 12 : 8);
  }
  const std::map<std::pair<int, std::string>, int> wanted = {
      {{0, "q"}, 4}, {{1, "q"}, 4}, {{2, "q"}, 4}, {{3, "q"}, 4}, {{0, "k"}, 2}, {{1, "k"}, 2}};
  EXPECT_EQ(heads, wanted);
}

TEST(CliLayerShapes, SkipsSharingLayersWithTheReason) {
  const json report = report_of({"circuits", data_path(kGemma4), "--quiet"});
  std::map<std::string, int> reasons;
  for (const json& skipped : report["skipped"]) ++reasons[skipped["reason"].get<std::string>()];
  EXPECT_EQ(reasons.size(), 2u) << report["skipped"];
  EXPECT_TRUE(reasons.contains("a factor: layer 2 reuses the keys and values of layer 0"));
  EXPECT_TRUE(reasons.contains("a factor: layer 3 reuses the keys and values of layer 1"));
}

TEST(CliLayerShapes, EveryAnalysisOfWeightsRuns) {
  for (const Words& arguments :
       {Words{"circuits", data_path(kSame), "--rope-offset", "3"},
        {"circuits", data_path(kSame), "--composition", "--fold-norm"},
        {"weights", data_path(kSame), "--per-head"},
        {"similarity", data_path(kSame)},
        {"similarity", data_path(kSame), "--overlap"},
        {"similarity", data_path(kSame), "--head-matrix", "1,0"},
        {"spectrum", data_path(kSame), "--mla"},
        {"spectrum", data_path(kSame), "--per-head", "--matrix", "kv,ov"}}) {
    const json report = report_of(arguments + Words{"--quiet"});
    EXPECT_FALSE(report["rows"].empty()) << arguments[0];
  }
}

TEST(CliLayerShapes, InfoListsTheDifferences) {
  const RunResult run = run_attnscope({"info", data_path(kGemma4)});
  EXPECT_TRUE(
      contains(run.out + run.err, "layers 1, 3 have 2 key/value heads, heads of 12 dimensions"));
  EXPECT_TRUE(contains(run.out + run.err, "layers 2, 3 have an MLP with intermediate size 80"));
  EXPECT_TRUE(contains(run.out + run.err, "layer 2 reuses the keys and values of layer 0"));
  const json facts = report_of({"info", data_path(kGemma4), "--quiet"})["models"][0];
  EXPECT_EQ(facts["kv_cache_bytes_per_token"], 2 * 2 * 2 * (8 + 12));
}

/// Layer 2 is in stage 1, with twice the hidden size.
TEST(CliLayerShapes, StagesHaveTheirOwnSizes) {
  const std::string swin = data_path("stacks/swin");
  const RunResult info = run_attnscope({"info", swin});
  EXPECT_TRUE(contains(info.out + info.err,
                       "layers 0, 1 have hidden size 4, 1 head, an MLP with intermediate size 8"));
  const json heads = report_of({"spectrum", swin, "--matrix", "q", "--per-head", "--quiet"});
  EXPECT_EQ(heads["rows"].size(), 3U + 1U + 1U + 2U);  // whole matrices, then heads
  EXPECT_NE(run_attnscope({"similarity", swin, "--head-matrix", "0,1"}).exit_code, 0);
  EXPECT_EQ(run_attnscope({"similarity", swin, "--head-matrix", "2,1"}).exit_code, 0);
}

TEST(CliLayerShapes, CompositionComparesOnlyHeadsOfOneStage) {
  const json report = report_of({"circuits", data_path("stacks/swin"), "--composition", "--quiet"});
  EXPECT_FALSE(report["rows"].empty());
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["layer"], 0);
    EXPECT_EQ(row["receiver_layer"], 1);
    // The baseline is that of the hidden size of the stage, 4.
    EXPECT_NEAR(row["score"].get<double>() - row["excess"].get<double>(), 1 / std::sqrt(4.0),
                1e-12);
  }
}

TEST(CliLayerShapes, VisionModelsWithoutForwardPassStateTheReason) {
  const RunResult run = run_attnscope({"attention", data_path("stacks/segformer"), "--pixel-values",
                                       data_path("images/pixels.npy")});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "fewer, convolved patches is not supported")) << run.err;
}

TEST(CliLayerShapes, UnsupportedForwardPassStatesTheReason) {
  const std::string path = data_path("weights_only/deepseek_v4");
  const RunResult run = run_attnscope({"attention", path, "--tokens", "1,2,3"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "which is not supported")) << run.err;
  const json report = report_of({"spectrum", path, "--matrix", "q,k,v", "--per-head", "--quiet"});
  EXPECT_FALSE(report["rows"].empty());
}

}  // namespace
}  // namespace attnscope::test
