// A label's logit as the target of `lens`, `ablate` and `predict --attribution`.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/features/attention/attention_model.h"
#include "tests/support/refusals.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

constexpr double kLabelTolerance = 1e-4;  // see tests/forward/label_logits_test.cpp

std::string label_model(const std::string& name) { return data_path("classifiers/" + name); }

json expected_target(const std::string& name) {
  return json::parse(std::ifstream(label_model(name) + "/expected.json"));
}

Words input_of(const json& text) {
  Words words = {"--tokens", ids_text(text.at("tokens").get<std::vector<std::int64_t>>())};
  if (text.contains("types")) {
    words =
        words + Words{"--token-types", ids_text(text.at("types").get<std::vector<std::int64_t>>())};
  }
  return words;
}

class LabelTarget : public testing::TestWithParam<const char*> {};

TEST_P(LabelTarget, LensDecodesTheLabelFromEachState) {
  const json expected = expected_target(GetParam());
  for (std::size_t at = 0; at < expected["texts"].size(); ++at) {
    const json rows = report_of(Words{"lens", label_model(GetParam()), "--label", "positive"} +
                                input_of(expected["texts"][at]))["rows"];
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1]["state"], "resid_pre");
    EXPECT_NEAR(rows[1]["label_logit"].get<double>(), expected["decoded"][at][2].get<double>(),
                kLabelTolerance);
    EXPECT_NEAR(rows[2]["label_logit"].get<double>(), expected["logits"][at][2].get<double>(),
                kLabelTolerance);
    double all = 0;
    for (const json& logit : expected["logits"][at]) all += std::exp(logit.get<double>());
    EXPECT_NEAR(rows[2]["label_probability"].get<double>(),
                std::exp(expected["logits"][at][2].get<double>()) / all, kLabelTolerance);
  }
}

TEST_P(LabelTarget, AblationChangesTheLogitAsInTransformers) {
  const json expected = expected_target(GetParam());
  for (std::size_t at = 0; at < expected["texts"].size(); ++at) {
    const json rows =
        report_of(Words{"ablate", label_model(GetParam()), "--label", "0", "--ablation", "zero",
                        "--components", "heads", "--layers", "0"} +
                  input_of(expected["texts"][at]))["rows"];
    ASSERT_EQ(rows.size(), 2u);
    for (std::size_t head = 0; head < 2; ++head) {
      const double clean = expected["logits"][at][0], ablated = expected["ablated"][head][at][0];
      EXPECT_NEAR(rows[head]["label_logit_change"].get<double>(), ablated - clean, kLabelTolerance);
      EXPECT_NEAR(rows[head]["label_logit"].get<double>(), clean, kLabelTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LabelTarget, testing::Values("bert", "llama"));

TEST(LabelTargets, AreMeansOverTexts) {
  const std::string model = label_model("bert");
  const Words both = {"--text", "the king", "--text", "Who rules?"};
  const auto logit = [&](const Words& texts) {
    return report_of(Words{"lens", model, "--label", "neutral"} + texts)["rows"][1]["label_logit"]
        .get<double>();
  };
  EXPECT_NEAR(logit(both), (logit({"--text", "the king"}) + logit({"--text", "Who rules?"})) / 2,
              1e-6);
  const json row = report_of(Words{"ablate", model, "--label", "neutral"} + both)["rows"][0];
  EXPECT_EQ(row["sequences"], 2);
  EXPECT_TRUE(row["label_logit_change_error"].is_number());
}

TEST(LabelTargets, LinesAreWholeTextsWithSpecialTokens) {
  const TempFolder folder;
  const std::string file = (folder.path() / "texts.txt").string();
  std::ofstream(file) << "the king\n\nWho rules?\n";
  const std::string model = label_model("bert");
  const auto rows = [&](const Words& input) {
    return report_of(Words{"lens", model, "--label", "neutral"} + input)["rows"];
  };
  const json of_texts = rows({"--text", "the king", "--text", "Who rules?"});
  EXPECT_EQ(rows({"--text-file", file, "--lines"}), of_texts);
  EXPECT_NE(rows({"--text-file", file, "--lines", "--no-special-tokens"}), of_texts);
  EXPECT_EQ(rows({"--text-file", file})[0]["sequences"], 1);
  std::string words;
  for (int word = 0; word < 30; ++word) words += "king ";
  std::ofstream(file) << "the king\n" << words << "\n";
  expect_refusal({"lens", model, "--label", "0", "--text-file", file, "--lines"}, 2,
                 {"texts.txt", "non-empty line 2 has 32 tokens", "24"});
  expect_refusal({"ablate", model, "--label", "0", "--text-file", file}, 2,
                 {"the text has 34 tokens", "--lines"});
}

/// The bert classifier with another value in its config.
std::string model_with(const TempFolder& folder, const std::string& key, const json& value) {
  json config = json::parse(std::ifstream(label_model("bert") + "/config.json"));
  config[key] = value;
  std::ofstream(folder.path() / "config.json") << config;
  std::filesystem::copy(label_model("bert") + "/model.safetensors",
                        folder.path() / "model.safetensors",
                        std::filesystem::copy_options::overwrite_existing);
  return folder.path().string();
}

TEST(LabelTargets, NoTopLabelUnlessExactlyOneApplies) {
  const auto top_labels = [](const std::string& model) {
    const Words input = {"--label", "0", "--tokens", "2,7,3"};
    return std::pair{report_of(Words{"lens", model} + input)["rows"][0]["top_label"],
                     report_of(Words{"ablate", model} + input)["rows"][0]["top_label_changed"]};
  };
  const TempFolder folder;
  for (const char* type : {"regression", "multi_label_classification"}) {
    const auto [top, changed] = top_labels(model_with(folder, "problem_type", type));
    EXPECT_TRUE(top.is_null()) << type;
    EXPECT_TRUE(changed.is_null()) << type;
  }
  EXPECT_TRUE(top_labels(label_model("llama-reward")).first.is_null());
  EXPECT_TRUE(top_labels(label_model("bert")).first.is_number());
}

TEST(LabelTargets, WrongLabelNamesOnlyPreventLabels) {
  const TempFolder folder;
  const std::string model = model_with(folder, "id2label", {{"0", "no"}, {"1", "yes"}});
  const Words text = {"--tokens", "2,7,3"};
  const auto entropy = [&](const std::string& of) {
    return report_of(Words{"attention", of} + text)["rows"][0]["entropy"];
  };
  EXPECT_EQ(entropy(model), entropy(label_model("bert")));
  expect_refusal(Words{"predict", model} + text, 4, {"3 rows", "id2label has 2 labels"});
  expect_refusal(Words{"lens", model, "--label", "no"} + text, 4, {"id2label has 2 labels"});
}

TEST(LabelTargets, ASingleLabelIsAttributedWithoutOthers) {
  const json expected = expected_target("llama-reward");
  const json report =
      report_of(Words{"predict", label_model("llama-reward"), "--attribution", "--label", "0"} +
                input_of(expected["texts"][0]));
  double sum = 0;
  for (const json& row : report["rows"]) sum += row["direct_effect"].get<double>();
  EXPECT_NEAR(sum, expected["logits"][0][0].get<double>(), kLabelTolerance);
  EXPECT_NEAR(report["models"][0]["attributed"]["logit"].get<double>(), sum, kLabelTolerance);
}

TEST(LabelTargets, DirectEffectsSumToTheLogit) {
  const json expected = expected_target("llama");
  for (std::size_t at = 0; at < expected["texts"].size(); ++at) {
    const json report = report_of(Words{"predict", label_model("llama"), "--attribution", "--label",
                                        "positive", "--against", "negative"} +
                                  input_of(expected["texts"][at]));
    double sum = 0;
    for (const json& row : report["rows"]) sum += row["direct_effect"].get<double>();
    const double difference =
        expected["logits"][at][2].get<double>() - expected["logits"][at][0].get<double>();
    EXPECT_NEAR(sum, difference, kLabelTolerance);
    EXPECT_NEAR(report["models"][0]["attributed"]["logit"].get<double>(), difference,
                kLabelTolerance);
    EXPECT_EQ(report["models"][0]["attributed"]["token"]["text"], "positive");
  }
  const json whole = report_of(Words{"predict", label_model("gpt2"), "--attribution", "--label",
                                     "LABEL_1", "--tokens", "3,9,8"});
  double sum = 0;
  for (const json& row : whole["rows"]) sum += row["direct_effect"].get<double>();
  EXPECT_NEAR(sum, whole["models"][0]["attributed"]["logit"].get<double>(), kLabelTolerance);
}

TEST(LabelTargets, AreRefusedIfTheyDoNotFit) {
  const std::string bert = label_model("bert");
  const Words text = {"--tokens", "2,7,3"};
  expect_refusals(2, {{"no such label",
                       Words{"lens", bert, "--label", "maybe"} + text,
                       {"'maybe' is not a label", "negative, neutral, positive"}},
                      {"no classifier",
                       Words{"lens", kShakespeare, "--label", "0"} + text,
                       {"requires a sequence classifier"}},
                      {"labels tokens",
                       Words{"ablate", label_model("bert-tokens"), "--label", "0"} + text,
                       {"requires a sequence classifier", "token classifier"}},
                      {"resample",
                       Words{"ablate", bert, "--label", "0", "--ablation", "resample"} + text,
                       {"--ablation", "resample is not available"}}});
  expect_refusals(2, {{"windows",
                       {"lens", bert, "--label", "0", "--text-file", "a.txt", "--sequences", "2"},
                       {"--label", "--sequences"}},
                      {"a token file",
                       {"ablate", bert, "--label", "0", "--token-file", "a.bin"},
                       {"--label", "--token-file"}},
                      {"no text", {"lens", bert, "--label", "0"}, {"--text, --text-file, --chat or"}}});
  expect_refusal(Words{"predict", bert, "--attribution", "--label", "neutral"} + text, 5,
                 {"does not support direct logit attribution"});
}

}  // namespace
}  // namespace attnscope::test
