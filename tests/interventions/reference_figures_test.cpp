// `lens`, `ablate`, `directions`, `attention` and attributions, compared with a float64 NumPy
// reference. It shares no code with the golden files, which come from transformers with hooks.
#include <cmath>
#include <filesystem>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

/// A model and its text as windows.
struct FiguredText {
  std::string model;
  std::vector<std::vector<std::uint16_t>> windows;

  Words words(const TempFolder& folder) const {
    std::vector<std::uint16_t> all;
    for (const auto& window : windows) all.insert(all.end(), window.begin(), window.end());
    return {model,
            "--token-file",
            folder.write("tokens.bin", shard_bytes(all)).string(),
            "--sequences",
            std::to_string(windows.size()),
            "--length",
            std::to_string(windows.front().size())};
  }

  /// Attribution of the texts' own tokens, summed over all windows.
  double summed_attribution() const {
    double sum = 0;
    for (const auto& window : windows) {
      const json report =
          report_of({"predict", model, "--attribution", "--tokens", ids_text(window)});
      for (const json& row : report["rows"]) sum += row["direct_effect"].get<double>();
    }
    return sum / static_cast<double>(windows.size());
  }
};

FiguredText figured_text(const std::string& name, const std::string& model) {
  const json texts = json::parse(read_file(source_path("tests/golden/interventions/texts.json")));
  return {.model = model, .windows = texts.at(name)};
}

/// float32 passes differ from float64 by 2e-6.
void expect_figure(const json& got, double wanted) {
  EXPECT_NEAR(got.get<double>(), wanted, 1e-5 + 1e-4 * std::abs(wanted));
}

json row_at(const json& rows, const json& layer, const json& head) {
  for (const json& row : rows) {
    if (row["layer"] == layer && row["head"] == head) return row;
  }
  ADD_FAILURE() << "no row of layer " << layer << ", head " << head;
  return {};
}

class Stories260K : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(text_.model))
      GTEST_SKIP() << "there are no models in ../shared/models";
  }

  json rows(const std::string& command, const Words& more = {}) const {
    return report_of(Words{command} + text_.words(folder_) + more)["rows"];
  }

  const TempFolder folder_;
  const FiguredText text_ =
      figured_text("stories260K", source_path("../shared/models/stories260K"));
};

TEST_F(Stories260K, EachLayerPredictsLikeTheReference) {
  const json layers = rows("lens");
  const std::vector<double> median_ranks = {74.5, 23.5, 10, 4, 1, 1};
  ASSERT_EQ(layers.size(), median_ranks.size());
  for (std::size_t at = 0; at < median_ranks.size(); ++at) {
    EXPECT_EQ(layers[at]["median_rank"], median_ranks[at]);
  }
  const double losses[] = {22.47035, 12.53234, 6.51689};
  for (std::size_t at = 0; at < 3; ++at) expect_figure(layers[at]["loss"], losses[at]);
  expect_figure(layers[1]["kl"], 11.54124);
  expect_figure(layers[4]["kl"], .86252);
  expect_figure(layers[1]["entropy"], .30467);
  expect_figure(layers[5]["entropy"], .96863);
  expect_figure(layers[5]["loss"], .685940);
  EXPECT_EQ(layers[5]["predicted"], 114);
}

TEST_F(Stories260K, AblationEffectOfAHeadEqualsTheReference) {
  for (const auto& [how, wanted] : {std::pair("zero", .044529), std::pair("mean", .044561)}) {
    const json found =
        rows("ablate", {"--layers", "4", "--components", "heads", "--ablation", how});
    const json head = row_at(found, 4, 3);
    expect_figure(head["loss_increase"], wanted);
    EXPECT_TRUE(head["loss_increase_error"].is_null());  // only one window
    expect_figure(head["loss"], .685940);
  }
  const RunResult resampled =
      run_attnscope(Words{"ablate"} + text_.words(folder_) + Words{"--ablation", "resample"});
  EXPECT_EQ(resampled.exit_code, 2);  // there is no other window
}

TEST_F(Stories260K, DirectEffectsEqualTheReference) {
  EXPECT_NEAR(text_.summed_attribution(), 21.714082, 2e-5);
  const json head = row_at(rows("attention", {"--layers", "4"}), 4, 3);
  EXPECT_NEAR(head["attended_token_effect"].get<double>(), -.135612, 1e-5);
}

/// The direction of she and he, which does not exceed the random baseline.
TEST_F(Stories260K, TopTokensOfADirectionEqualTheReference) {
  const json report = report_of({"directions", text_.model, "--layers", "4", "--head", "0",
                                 "--directions", "1", "--copying"});
  EXPECT_EQ(report["models"][0]["candidate_tokens"]["untrained"], 258);
  const struct {
    std::vector<std::int64_t> ids;
    double coherence;
  } signs[] = {{{317, 311, 438, 358, 310}, .120}, {{345, 346, 271, 451, 405}, .079}};
  std::size_t found = 0;
  for (const json& row : report["rows"]) {
    EXPECT_NEAR(row["value"].get<double>(), 1.823958, 1e-6 * 1.823958);
    EXPECT_NEAR(row["token_copying"].get<double>(), .903872560, 2e-8);
    EXPECT_NEAR(row["full_copying"].get<double>(), .970483, 1e-6);
    EXPECT_EQ(row["named"], false);
    if (row["singular_vector"] != "output") continue;
    // Six random generators of the reference gave .244 to .306.
    EXPECT_NEAR(row["random_coherence"].get<double>(), .275, .045);
    for (const auto& [ids, coherence] : signs) {
      bool same = true;
      for (std::size_t at = 0; at < ids.size(); ++at) {
        same = same && row["tokens"][at]["token_id"] == ids[at];
      }
      if (!same) continue;
      ++found;
      EXPECT_NEAR(row["coherence"].get<double>(), coherence, 6e-4);
    }
  }
  EXPECT_EQ(found, 2u);
}

TEST(ReferenceFigures, AttributionsSumToTheLogitsOfBothWindows) {
  EXPECT_NEAR(figured_text("shakespeare-gpt2", kShakespeare).summed_attribution(), 11.159623, 2e-5);
  EXPECT_NEAR(figured_text("shakespeare-llama", kShakespeareLlama).summed_attribution(), 9.903353,
              2e-5);
}

TEST(ReferenceFigures, TheFirstMlpIsTheMostImportantComponentOfALlama) {
  const TempFolder folder;
  const FiguredText text = figured_text("shakespeare-llama", kShakespeareLlama);
  const struct {
    const char* how;
    double wanted;
  } cases[] = {{"zero", 4.936794}, {"mean", 4.159983}, {"resample", 7.205064}};
  for (const auto& [how, wanted] : cases) {
    const json rows =
        report_of(Words{"ablate"} + text.words(folder) +
                  Words{"--layers", "0", "--components", "mlp", "--ablation", how})["rows"];
    ASSERT_EQ(rows.size(), 1u);
    expect_figure(rows[0]["loss_increase"], wanted);
  }
}

}  // namespace
}  // namespace attnscope::test
