// Tokens that `predict --generate` writes, and where it stops.
#include "tests/features/attention/attention_model.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A model outside the repository; empty if it is not available.
std::string shared_path(const std::string& name) {
  const fs::path path = fs::path(ATTNSCOPE_SOURCE_DIR) / "../shared/models" / name;
  return fs::exists(path) ? path.string() : "";
}

TEST(CliPredict, GeneratesTheMostLikelyTokenEachTime) {
  const json written =
      report_of({"predict", kShakespeareLlama, "--text", "KING", "--generate", "5"});
  const json& generated = written.at("models")[0].at("generated");
  EXPECT_EQ(generated.at("tokens").size(), 5u);
  EXPECT_EQ(generated.at("ended_by"), "count");
  std::string ids;
  for (const json& token : written.at("models")[0].at("tokens")) {
    ids += std::to_string(token.at("id").get<int>()) + ",";
  }
  for (const json& token : generated.at("tokens")) {
    const std::string prompt = ids.substr(0, ids.size() - 1);
    const json next = report_of({"predict", kShakespeareLlama, "--tokens", prompt, "--top", "1"});
    EXPECT_EQ(next.at("rows")[0].at("token_id"), token.at("id"));
    ids += std::to_string(token.at("id").get<int>()) + ",";
  }
}

TEST(CliPredict, ContinuesAStoryLikeTransformers) {
  const std::string model = shared_path("stories260K");
  if (model.empty()) GTEST_SKIP() << "no shared models here";
  const json report =
      report_of({"predict", model, "--text", "Once upon a time", "--generate", "40"});
  std::vector<int> ids;
  for (const json& token : report.at("models")[0].at("generated").at("tokens")) {
    ids.push_back(token.at("id"));
  }
  // Expected tokens: generate(do_sample=False) of transformers.
  EXPECT_EQ(ids,
            (std::vector<int>{432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396,
                              267, 337, 410, 408, 419, 292, 411, 322, 265, 282, 295, 433, 426, 385,
                              328, 432, 358, 394, 261, 370, 432, 352, 266, 268, 388, 426}));
}

TEST(CliPredict, GeneratesTheTokensOfTransformers) {
  const struct {
    const std::string& model;
    std::vector<int> ids;  // generate(do_sample=False) after "First Citizen:", in float32
  } models[] = {
      {kShakespeareLlama, {199, 41,  359, 816, 259, 262, 316,  68,  311, 12, 526, 12,  299, 290,
                           430, 322, 830, 199, 67,  302, 80,   281, 306, 68, 288, 267, 262, 983,
                           14,  199, 199, 48,  572, 48,  1004, 26,  199, 41, 477, 259}},
      {kShakespeare, {199, 51,  315, 12,  292, 359, 259, 262, 509, 316, 68,  311, 288, 267,
                      303, 82,  575, 199, 397, 267, 303, 82,  575, 297, 267, 262, 360, 298,
                      12,  299, 267, 303, 478, 83,  199, 397, 267, 303, 478, 83}}};
  for (const auto& [model, ids] : models) {
    SCOPED_TRACE(model);
    const json report =
        report_of({"predict", model, "--text", "First Citizen:", "--generate", "40"});
    std::vector<int> written;
    for (const json& token : report.at("models")[0].at("generated").at("tokens")) {
      written.push_back(token.at("id"));
    }
    EXPECT_EQ(written, ids);
  }
}

TEST(CliPredict, StopsAtTheEndTokenOfTheConfig) {
  TinyLlama tiny = runnable_llama();
  const TempFolder folder;
  const json first =
      report_of({"predict", tiny.write(folder, "model"), "--tokens", "1,2,3", "--generate", "8"});
  const json& tokens = first.at("models")[0].at("generated").at("tokens");
  ASSERT_EQ(tokens.size(), 8u);
  const int end = tokens[1].at("id");
  const auto expect_end = [&](const std::string& model) {
    const json generated = report_of({"predict", model, "--tokens", "1,2,3", "--generate", "8"})
                               .at("models")[0]
                               .at("generated");
    EXPECT_EQ(generated.at("ended_by"), "end token");
    EXPECT_EQ(generated.at("tokens").back().at("id"), end);
    EXPECT_LE(generated.at("tokens").size(), 2u);
  };
  tiny.config["eos_token_id"] = end;
  expect_end(tiny.write(folder, "of-config"));
  tiny.config["eos_token_id"] = 1000;
  const std::string model = tiny.write(folder, "of-generation");
  folder.write("of-generation/generation_config.json", json({{"eos_token_id", {999, end}}}).dump());
  expect_end(model);
  folder.write("of-generation/generation_config.json", R"({"eos_token_id": "x"})");
  expect_refusal({"predict", model, "--tokens", "1,2,3", "--generate", "8"}, 4,
                 {"generation_config.json", "eos_token_id"});
}

TEST(CliPredict, StopsWhereLearnedPositionsEnd) {
  const json generated =
      report_of({"predict", tiny_model("gpt2"), "--tokens", "1,2,3", "--generate", "1000"})
          .at("models")[0]
          .at("generated");
  const json context = report_of({"info", tiny_model("gpt2")}).at("models")[0].at("context_length");
  if (generated.at("ended_by") == "end token") GTEST_SKIP() << "it ended before";
  EXPECT_EQ(generated.at("ended_by"), "context");
  EXPECT_EQ(generated.at("tokens").size(), context.get<std::size_t>() - 3 + 1);
}

}  // namespace
}  // namespace attnscope::test
