// Reports of encoder-decoders, vision models and audio models.
#include <cmath>

#include "attnscope/page/encoding.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/npy.h"
#include "tests/support/report_page.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

std::string stack_model(const std::string& name) { return data_path("stacks/" + name); }
std::string picture(const std::string& name) { return data_path("images/" + name); }

/// The entries of a list that belong to a model.
json of_model(const ReportPage& page, const char* list, const std::string& model) {
  json found = json::array();
  for (const json& entry : page.results.at(list)) {
    if (entry.at("model") == model) found.push_back(entry);
  }
  return found;
}

TEST(CliReportInput, ShowsMapsOfATargetOnItsSource) {
  const TempFolder folder;
  const std::string model = data_path("encoder_decoders/t5");
  const Words input = {"--tokens", "3,4,5,6,7,8,9", "--target-tokens", "0,5,6,7"};
  std::string notes;
  const ReportPage page = report_page(folder, Words{model} + input, &notes);
  EXPECT_EQ(page.models_with("attention"), (Words{"t5:encoder", "t5:decoder", "t5:cross"}));
  EXPECT_EQ(page.models_with("induction"), (Words{"t5:encoder"}));
  const json text = of_model(page, "texts", "t5:cross").at(0);
  EXPECT_EQ(text["tokens"].size(), 4u);
  EXPECT_EQ(text["source"].size(), 7u);
  EXPECT_FALSE(of_model(page, "texts", "t5:decoder").at(0).contains("source"));

  const std::string file = (folder.path() / "maps.safetensors").string();
  const RunResult run = run_attnscope(
      Words{"attention", model, "--stack", "cross", "--maps", file, "--quiet"} + input);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::vector<double> expected = stored_tensor(file, "attentions").values;  // (L, H, 4, 7)
  const json maps = of_model(page, "maps", "t5:cross");
  ASSERT_EQ(expected.size(), maps.size() * 28);
  for (std::size_t map = 0; map < maps.size(); ++map) {
    EXPECT_EQ(maps[map]["tokens"], 4);
    EXPECT_EQ(maps[map]["keys"], 7);
    const auto at = maps[map]["at"].get<std::size_t>();
    for (std::size_t cell = 0; cell < 28; ++cell) {
      ASSERT_EQ(static_cast<std::uint8_t>(page.maps.at(at + cell)),
                weight_byte(static_cast<float>(expected[map * 28 + cell])));
    }
  }
  EXPECT_TRUE(contains(page.results["command"].get<std::string>(), "--target-tokens 0,5,6,7"));
}

TEST(CliReportInput, ShowsThePreprocessedImage) {
  const TempFolder folder;
  const ReportPage page = report_page(folder, {stack_model("vit"), "--image", picture("odd.png")});
  const json shown = of_model(page, "pictures", "vit").at(0);
  const json map = of_model(page, "maps", "vit").at(0);
  EXPECT_EQ(shown["names"], json({"class token"}));
  EXPECT_EQ(map["tokens"], shown["patch_rows"].get<int>() * shown["patch_cols"].get<int>() + 1);
  EXPECT_EQ(map["at"].get<int>() - shown["at"].get<int>(),
            shown["rows"].get<int>() * shown["cols"].get<int>() * 3);
  EXPECT_EQ(of_model(page, "texts", "vit"), json::array());
  EXPECT_EQ(page.models_with("induction"), Words{});
  EXPECT_EQ(page.results["skipped"], json::array());
  EXPECT_GT(page.part("attention")["rows"].at(0)["patch_distance"], 0);
}

TEST(CliReportInput, NamesRegisterTokens) {
  const TempFolder folder;
  const ReportPage page = report_page(
      folder, {stack_model("dinov2_with_registers"), "--pixel-values", picture("pixels.npy")});
  const json names = of_model(page, "pictures", "dinov2_with_registers").at(0)["names"];
  EXPECT_EQ(names.at(0), "class token");
  EXPECT_EQ(names.at(1), "register 0");
}

TEST(CliReportInput, GivesEachTowerItsOwnInput) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(
      folder, {stack_model("clip"), "--image", picture("odd.png"), "--tokens", "3,4,5"}, &notes);
  EXPECT_EQ(of_model(page, "texts", "clip:text").at(0)["tokens"].size(), 3u);
  EXPECT_EQ(of_model(page, "pictures", "clip:vision").size(), 1u);
}

TEST(CliReportInput, RefusesASecondTextWithoutAFirst) {
  const Words report = {"report", data_path("classifiers/bert"), "--out", "x.html"};
  expect_refusal(report + Words{"--text-pair", "a"}, 2, {"--text-pair: requires --text"});
  expect_refusal(report + Words{"--token-types", "0,1"}, 2,
                 {"--token-types: requires --text or --tokens"});
}

TEST(CliReportInput, ShowsAudioInFrames) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(
      folder, {stack_model("wav2vec2"), "--audio", data_path("audio/chirp.wav")}, &notes);
  const json audio = of_model(page, "sounds", "wav2vec2").at(0);
  const json map = of_model(page, "maps", "wav2vec2").at(0);
  EXPECT_EQ(audio["frames"], map["tokens"]);
  EXPECT_GT(audio["seconds"], 0);
}

TEST(CliReportInput, ShowsATargetOnTheFramesOfItsAudio) {
  const TempFolder folder;
  MediaInput features{.shape = {4, 20}, .values = {}};
  for (int at = 0; at < 80; ++at) features.values.push_back(std::sin(static_cast<float>(at)));
  const std::string file = folder.write("features.npy", npy_bytes(features)).string();
  std::string notes;
  const ReportPage page = report_page(
      folder,
      {data_path("encoder_decoders/whisper"), "--features", file, "--target-tokens", "2,5,7"},
      &notes);
  EXPECT_EQ(page.models_with("attention"),
            (Words{"whisper:encoder", "whisper:decoder", "whisper:cross"}));
  EXPECT_FALSE(contains(notes, "missing target text")) << notes;
  const json text = of_model(page, "texts", "whisper:cross").at(0);
  EXPECT_EQ(text["tokens"].size(), 3u);
  ASSERT_EQ(text["source"].size(), 10u);  // 0.2 s, two features per frame
  EXPECT_EQ(text["source"].at(1)["text"], "0.02 s");
  EXPECT_EQ(of_model(page, "maps", "whisper:cross").at(0)["keys"], 10);
}

TEST(CliReportInput, ShowsWeightsOfAVisionModelWithoutAnImage) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(folder, {stack_model("vit")}, &notes);
  EXPECT_TRUE(contains(notes, "expected images as input: pass --image")) << notes;
  EXPECT_EQ(page.models_with("spectrum"), Words{"vit"});
  EXPECT_EQ(page.models_with("attention"), Words{});
}

TEST(CliReportInput, RejectsInputsThatNoModelSupports) {
  const TempFolder folder;
  const std::string out = (folder.path() / "report.html").string();
  const std::string broken = folder.write("broken.png", "no picture").string();
  const auto error = [&](Words words) {
    const RunResult run = run_attnscope(Words{"report"} + words + Words{"--quiet", "-o", out});
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_FALSE(std::filesystem::exists(out));
    return run.err;
  };
  EXPECT_TRUE(contains(error({stack_model("vit"), "--tokens", "1,2"}),
                       "--tokens: vit takes images, not texts"));
  EXPECT_TRUE(contains(error({tiny_model("gpt2"), "--image", picture("odd.png")}),
                       "--image: gpt2 takes texts, not images"));
  EXPECT_TRUE(contains(error({stack_model("clip"), "--audio", data_path("audio/chirp.wav")}),
                       "--audio: clip:text takes texts, not sound"));
  EXPECT_TRUE(contains(error({stack_model("clip"), "--image", broken}), broken));
  EXPECT_TRUE(contains(error({stack_model("clip"), "--image", "none.png"}), "none.png"));
}

}  // namespace
}  // namespace attnscope::test
