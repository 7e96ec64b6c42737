// `--edits` of `predict`, `lens` and `attention`: classifiers, images, prompts, maps and stores.
// Expected logits: tools/golden_edits.py.
#include <cmath>
#include <map>

#include "attnscope/base/text.h"
#include "tests/features/common/edits_command.h"
#include "tests/support/npy.h"

namespace attnscope::test {
namespace {

using Edits = CliEdits;

TEST_F(Edits, OfClassifiersEqualHooksOfPyTorch) {
  const json cases = json::parse(read_file(source_path("tests/golden/hooks/edits_labels.json")));
  const Checkpoint golden =
      Checkpoint::open(source_path("tests/golden/hooks/edits_labels.safetensors"));
  ASSERT_GT(cases.size(), 20u);
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const std::string model = data_path(cases[at]["model"]);
    SCOPED_TRACE(cases[at].dump());
    Words run = {"predict", model, "--top", "100"};
    Words ids;
    for (const json& id : cases[at]["tokens"]) ids.push_back(id.dump());
    if (ids.empty()) {
      const Checkpoint images = Checkpoint::open(model + "/images.safetensors");
      const CheckpointTensor& pixels = *images.find("pixel_values.0");
      const std::string array =
          npy_bytes({.shape = pixels.view.shape, .values = values_of(pixels)});
      run = run + Words{"--pixel-values", folder_.write("pixels.npy", array).string()};
    } else {
      run = run + Words{"--tokens", join(ids, ",")};
    }
    const CheckpointTensor& stored = *golden.find(std::to_string(at));
    const std::vector<float> expected = values_of(stored);
    double largest = 0, changed = 0;
    for (const float each : expected) largest = std::max(largest, std::abs(double{each}));
    const json plain = report_of(run)["rows"];
    const json report = report_of(run + Words{"--edits", edits(cases[at]["edits"])});
    const std::int64_t labels = stored.view.shape.back();
    ASSERT_EQ(report["rows"].size(), expected.size());
    std::map<std::size_t, double> found;
    for (std::size_t row = 0; row < expected.size(); ++row) {
      const auto place = [&](const json& each) {
        const std::int64_t position = each.contains("position") && each["position"].is_number()
                                          ? each["position"].get<std::int64_t>()
                                          : 0;
        return static_cast<std::size_t>(position * labels + each["label_id"].get<std::int64_t>());
      };
      const std::size_t index = place(report["rows"][row]), before = place(plain[row]);
      const double logit = report["rows"][row]["logit"];
      EXPECT_NEAR(logit, double{expected[index]}, 1e-5 * largest);
      changed =
          std::max(changed, std::abs(plain[row]["logit"].get<double>() - double{expected[before]}));
    }
    EXPECT_GT(changed, 1e-3 * largest);
    EXPECT_TRUE(report["parameters"].contains("edits_hash"));
  }
}

TEST_F(Edits, OfALensEndInTheLogitsOfTheRun) {
  const json list = list_of({{"name", "z"}, {"layer", 1}, {"head", 1}, {"scale", -2}});
  const std::string file = edits(list);
  // Labels.
  const std::string bert = data_path("classifiers/bert");
  const Words text = {bert, "--tokens", "7,14,21,25,9"};
  const json rows =
      report_of(Words{"lens"} + text + Words{"--label", "1", "--edits", file})["rows"];
  for (const json& row : report_of(Words{"predict"} + text + Words{"--edits", file})["rows"]) {
    if (row["label_id"] != 1) continue;
    EXPECT_NEAR(rows.back()["label_logit"].get<double>(), row["logit"].get<double>(), 1e-6);
  }
  const json plain = report_of(Words{"lens"} + text + Words{"--label", "1"})["rows"];
  EXPECT_EQ(rows[1], plain[1]);
  EXPECT_NE(rows.back()["label_logit"], plain.back()["label_logit"]);
  // Prompts.
  const std::string prompts =
      folder_
          .write("prompts.jsonl", R"({"clean": [3, 17, 8, 25, 11], "correct": 5, "incorrect": 9})"
                                  "\n")
          .string();
  const std::vector<float> states = logits({kEditedModel, "--tokens", kEditedText}, list);
  const std::size_t last = states.size() - states.size() / 5;
  const auto lens_of = [&](const Words& more) {  // with notes about the negative difference
    const Words command = {"lens", kEditedModel, "--prompts", prompts, "--format", "json"};
    return json::parse(run_attnscope(command + more).out);
  };
  const json lens = lens_of({"--edits", file});
  EXPECT_NEAR(lens["rows"].back()["logit_difference"].get<double>(),
              double{states[last + 5]} - double{states[last + 9]}, 1e-5);
  EXPECT_TRUE(lens["parameters"].contains("edits_hash"));
  EXPECT_NE(lens["rows"].back()["logit_difference"],
            lens_of({})["rows"].back()["logit_difference"]);
}

TEST_F(Edits, OfAnAttributionKeepItsSum) {
  const std::string prompts = source_path("examples/prompts.jsonl");
  for (const json& edit :
       {json{{"name", "z"}, {"layer", 2}, {"head", 1}, {"set", 0}},
        json{{"name", "pattern"}, {"layer", 1}, {"scale", 0.5}},
        json{{"name", "mlp_post"}, {"layer", 0}, {"positions", "last"}, {"add", 0.1}}}) {
    SCOPED_TRACE(edit.dump());
    const std::string list = edits(list_of(edit));
    const Words attribution = {"predict",       kModelWithTokenizer, "--quiet",
                               "--attribution", "--prompts",         prompts};
    const json report = report_of(attribution + Words{"--edits", list});
    const json plain = report_of(attribution);
    double sum = 0;
    for (const json& row : report["rows"]) {
      sum += row["direct_effect"].get<double>();
      if (edit["name"] == "z" && row["layer"] == 2 && row["head"] == 1) {
        EXPECT_EQ(row["direct_effect"], 0);
      }
    }
    const double logit = report["models"][0]["attributed"]["logit"];
    EXPECT_NEAR(sum, logit, 2e-5);
    EXPECT_NE(logit, plain["models"][0]["attributed"]["logit"].get<double>());
  }
  const std::string list = edits(list_of({{"name", "resid_post"}, {"layer", 1}, {"scale", 2}}));
  expect_refusal(
      {"predict", kModelWithTokenizer, "--attribution", "--text", "To be", "--edits", list},
      kUnsupported, {"edit 0 ('resid_post') changes the residual stream"});
}

TEST_F(Edits, OfMapsAreShownBySaveAndHeatmap) {
  const std::string list =
      edits(list_of({{"name", "pattern"}, {"layer", 1}, {"head", 0}, {"set", 0.2}}));
  const Words run = {"attention", kEditedModel, "--tokens", kEditedText, "--edits", list};
  output_of(run + Words{"--maps", path("maps.safetensors")});
  const Checkpoint saved = Checkpoint::open(path("maps.safetensors"));
  const std::vector<float> maps = values_of(*saved.find("attentions"));
  const auto heads = static_cast<std::size_t>(saved.find("attentions")->view.shape[1]);
  EXPECT_EQ(maps[0], 1.0F);
  for (std::size_t at = 0; at < 25; ++at) EXPECT_EQ(maps[heads * 25 + at], 0.2F);
  for (const json& row : report_of(run + Words{"--heatmap", "L1H0"})["rows"]) {
    EXPECT_EQ(row["weights"], json(std::vector<double>(5, double{0.2F})));
  }
}

TEST_F(Edits, OfAnImageAreOfPatches) {
  const std::string model = data_path("stacks/vit");
  const Checkpoint images = Checkpoint::open(model + "/images.safetensors");
  const CheckpointTensor& pixels = *images.find("pixel_values.0");
  const std::string array = npy_bytes({.shape = pixels.view.shape, .values = values_of(pixels)});
  const Words run = {"attention", model, "--pixel-values",
                     folder_.write("pixels.npy", array).string()};
  const std::string list = edits(list_of({{"name", "attn_scores"}, {"layer", 1}, {"scale", 0}}));
  const json rows = report_of(run + Words{"--edits", list})["rows"];
  for (const json& row : rows) {
    if (row["layer"] != 1 || row["head"].is_null()) continue;
    EXPECT_NEAR(row["entropy"].get<double>(), std::log(5), 1e-5);
  }
  EXPECT_NE(rows, report_of(run)["rows"]);
  const std::string past = edits(list_of({{"name", "z"}, {"positions", 5}, {"scale", 0}}));
  expect_refusal({"predict", model, "--pixel-values", path("pixels.npy"), "--edits", past}, kUsage,
                 {"past the end"});
}

TEST_F(Edits, AreStoredByTheirContent) {
  const auto list = [&](double scale) {
    return edits(list_of({{"name", "z"}, {"layer", 0}, {"head", 1}, {"scale", scale}}));
  };
  for (const std::string command : {"lens", "attention"}) {
    const Words plain = {command, kEditedModel, "--tokens", kEditedText};
    const auto edited = [&](const std::string& file) { return plain + Words{"--edits", file}; };
    expect_computed(edited(list(0)), 1);
    expect_computed(plain, 1);
    expect_computed(edited(list(0)), 0);
    expect_computed(edited(list(0.5)), 1);
    expect_computed(
        edited(edits(list_of({{"head", 1}, {"scale", 0.5}, {"layer", 0}, {"name", "z"}}),
                     "same.json")),
        0);
    expect_computed(plain, 0);
    // Values of another run: its tokens, or the content of its file.
    const auto from = [&](const json& source) {
      return edits(list_of({{"name", "z"}, {"layer", 0}, {"from_run", source}}));
    };
    expect_computed(edited(from({{"tokens", {30, 4, 21, 9, 40}}})), 1);
    expect_computed(edited(from({{"tokens", {30, 4, 21, 9, 41}}})), 1);
    expect_computed(edited(from({{"tokens", {30, 4, 21, 9, 40}}})), 0);
    const std::string file = saved({kEditedModel, "--tokens", kOtherText}, "z");
    expect_computed(edited(from({{"file", file}})), 1);
    std::filesystem::rename(file, path("b.safetensors"));
    expect_computed(edited(from({{"file", path("b.safetensors")}})), 0);
    saved({kEditedModel, "--tokens", "1,2,3,4,5"}, "z", "b.safetensors");
    expect_computed(edited(from({{"file", path("b.safetensors")}})), 1);
  }
}

}  // namespace
}  // namespace attnscope::test
