// Commands on hybrid models, in which some layers have no attention.
#include "tests/support/program.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

std::string forward_model(const std::string& name) { return data_path("forward/" + name); }

std::vector<int> layers_of(const json& rows) {
  std::vector<int> layers;
  for (const json& row : rows) layers.push_back(row["layer"]);
  return layers;
}

TEST(CliHybrid, OtherLayersAreSkippedAndNamed) {
  const std::string model = forward_model("qwen3_next-fourth");
  const RunResult result = run_attnscope({"spectrum", model, "--matrix", "q", "--format", "json"});
  EXPECT_EQ(result.exit_code, 0);
  const json report = json::parse(result.out);
  EXPECT_EQ(layers_of(report["rows"]), std::vector{3});
  EXPECT_TRUE(report["skipped"].empty());
  EXPECT_NE(result.err.find("layers 0-2 have Gated DeltaNet in place of attention"),
            std::string::npos)
      << result.err;
  // Every layer has an MLP.
  EXPECT_EQ(layers_of(report_of({"spectrum", model, "--matrix", "up", "--quiet"})["rows"]),
            (std::vector{0, 1, 2, 3}));
}

TEST(CliHybrid, ARequestedLayerIsSkippedWithTheReason) {
  const json report = report_of({"spectrum", forward_model("qwen3_next-fourth"), "--matrix", "k,qk",
                                 "--layers", "1,3", "--quiet"});
  EXPECT_EQ(layers_of(report["rows"]), (std::vector{3, 3}));
  ASSERT_EQ(report["skipped"].size(), 2u);
  for (const json& skipped : report["skipped"]) {
    EXPECT_EQ(skipped["layer"], 1);
    EXPECT_TRUE(contains(skipped["reason"].get<std::string>(),
                         "layer 1 has Gated DeltaNet instead of attention"))
        << skipped;
  }
}

TEST(CliHybrid, ABlockMayHaveOnlyOneComponent) {
  const std::string model = data_path("hybrid/nemotron_h");
  EXPECT_EQ(layers_of(report_of({"spectrum", model, "--matrix", "q", "--quiet"})["rows"]),
            (std::vector{2, 4}));
  const json report =
      report_of({"spectrum", model, "--matrix", "up,q", "--layers", "0-3", "--quiet"});
  std::vector<std::string> reasons;
  for (const json& skipped : report["skipped"]) reasons.push_back(skipped["reason"]);
  EXPECT_EQ(reasons, (std::vector<std::string>{
                         "layer 0 has Mamba-2 only", "layer 0 has Mamba-2 instead of attention",
                         "layer 1 has an MLP instead of attention", "layer 2 has attention only",
                         "layer 3 has experts instead of attention"}));
}

TEST(CliHybrid, OtherCommandsAnalyzeTheAttentionLayers) {
  const std::string model = forward_model("qwen3_next-fourth");
  for (const Words& command :
       {Words{"circuits", model}, Words{"weights", model, "--matrix", "q"},
        Words{"similarity", model}, Words{"circuits", model, "--composition"}}) {
    SCOPED_TRACE(command_text(command));
    const json report = report_of(command + Words{"--quiet"});
    EXPECT_TRUE(report["skipped"].empty()) << report["skipped"];
    for (const json& row : report["rows"]) EXPECT_EQ(row.value("layer", 3), 3);
  }
}

TEST(CliHybrid, AttentionMeasuresTheExistingMaps) {
  const std::string model = forward_model("qwen3_next-fourth");
  const Words text = {"--tokens", "3,4,5,6,7,8"};
  const json rows = report_of(Words{"attention", model, "--quiet"} + text)["rows"];
  EXPECT_EQ(layers_of(rows), (std::vector{3, 3, 3}));  // two heads and their layer
  expect_refusal(Words{"attention", model, "--layers", "0-1"} + text, 2,
                 {"layer 0 has Gated DeltaNet instead of attention"});
  expect_refusal(Words{"attention", model, "--heatmap", "0,0"} + text, 2,
                 {"layer 0 has Gated DeltaNet instead of attention"});
}

TEST(CliHybrid, SavesMapsOfAttentionLayersOnly) {
  const TempFolder folder;
  const std::string file = (folder.path() / "run.safetensors").string();
  run_attnscope({"predict", forward_model("lfm2"), "--tokens", "3,4,5", "--save", file});
  EXPECT_EQ(stored_tensor(file, "attentions").shape, (std::vector<std::int64_t>{1, 4, 3, 3}));
  EXPECT_EQ(stored_tensor(file, "hidden_states").shape, (std::vector<std::int64_t>{4, 3, 24}));
  const json header = tensor_headers(file).at("attention_layers");
  EXPECT_EQ(header.at("dtype"), "I64");
  EXPECT_EQ(header.at("shape"), json({1}));
  const std::string bytes = read_file(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  std::int64_t layer = 0;
  std::memcpy(
      &layer,
      bytes.data() + sizeof length + length + header.at("data_offsets")[0].get<std::size_t>(),
      sizeof layer);
  EXPECT_EQ(layer, 1);
  run_attnscope({"predict", forward_model("llama"), "--tokens", "3,4,5", "--save", file});
  EXPECT_EQ(read_file(file).find("attention_layers"), std::string::npos);
}

TEST(CliHybrid, CountsTheCacheOfAttentionLayersOnly) {
  const auto bytes = [](const std::string& model) {
    return report_of({"info", model})["models"][0]["kv_cache_bytes_per_token"];
  };
  EXPECT_EQ(bytes(forward_model("qwen3_next-fourth")), 2 * 1 * (16 + 16));
  EXPECT_EQ(bytes(data_path("hybrid/nemotron_h")), 2 * 2 * 2 * (8 + 8));
  EXPECT_EQ(bytes(data_path("hybrid/kimi_linear")), 2 * (8 + 4));
}

TEST(CliHybrid, AttentionWithOtherInputsHasNoCircuits) {
  const RunResult run = run_attnscope({"circuits", data_path("hybrid/zamba2"), "--format", "json"});
  EXPECT_TRUE(json::parse(run.out)["rows"].empty());
  EXPECT_TRUE(contains(run.err, "its attention has inputs other than the residual stream"))
      << run.err;
  expect_refusal({"spectrum", data_path("hybrid/zamba2"), "--matrix", "qk"}, kUsage,
                 {"zamba2 has no 'qk'"});
}

TEST(CliHybrid, TheAttentionGateIsASeparateMatrix) {
  const json rows = report_of(
      {"spectrum", forward_model("qwen3_5"), "--matrix", "q,attention_gate", "--quiet"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) EXPECT_EQ(row["shape"], json({64, 24}));
  EXPECT_NE(rows[0]["frobenius_norm"], rows[1]["frobenius_norm"]);
}

TEST(CliHybrid, NamesSkippedWeights) {
  const struct {
    const char *model, *command, *note;
  } cases[] = {{"hybrid/zamba2", "weights", "6 tensors are not analyzed: adapters"},
               {"weights_only/deepseek_v4", "spectrum",
                "4 tensors are not analyzed: the output projection has two factors"}};
  for (const auto& [model, command, note] : cases) {
    const RunResult run = run_attnscope({command, data_path(model)});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(contains(run.err, note)) << run.err;
  }
  EXPECT_FALSE(contains(run_attnscope({"spectrum", data_path("llama")}).err, "not analyzed"));
}

}  // namespace
}  // namespace attnscope::test
