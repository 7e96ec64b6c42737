// `predict` with classifiers: labels of texts and tokens, and answers.
#include <cmath>
#include <fstream>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

constexpr double kLogitTolerance = 1e-4;  // see tests/forward/label_logits_test.cpp

std::string labels_model(const std::string& name) { return data_path("classifiers/" + name); }

json expected_labels(const std::string& name) {
  return json::parse(std::ifstream(labels_model(name) + "/expected.json"));
}

std::string tokens_of(const json& text) {
  return ids_text(text.at("tokens").get<std::vector<std::int64_t>>());
}

Words label_words(const json& text) {
  Words words = {"--tokens", tokens_of(text)};
  if (text.contains("types")) {
    words =
        words + Words{"--token-types", ids_text(text.at("types").get<std::vector<std::int64_t>>())};
  }
  return words;
}

TEST(PredictLabels, SoftmaxOverNamedLabels) {
  const json expected = expected_labels("bert");
  const json report =
      report_of(Words{"predict", labels_model("bert")} + label_words(expected["texts"][1]));
  EXPECT_EQ(report["parameters"]["labels"], "sequence");
  const Words names = {"negative", "neutral", "positive"};
  double all = 0;
  for (const json& logit : expected["logits"][1]) all += std::exp(logit.get<double>());
  ASSERT_EQ(report["rows"].size(), 3u);
  for (const json& row : report["rows"]) {
    const auto label = row["label_id"].get<std::size_t>();
    const double logit = expected["logits"][1][label];
    EXPECT_EQ(row["text"], names[label]);
    EXPECT_NEAR(row["logit"].get<double>(), logit, kLogitTolerance);
    EXPECT_NEAR(row["probability"].get<double>(), std::exp(logit) / all, kLogitTolerance);
  }
  EXPECT_EQ(report["rows"][0]["rank"], 1);
  EXPECT_GE(report["rows"][0]["logit"], report["rows"][1]["logit"]);
}

TEST(PredictLabels, SigmoidOfMultiLabelAndSingleLabelModels) {
  for (const char* model : {"roberta", "xlm-roberta"}) {
    const json expected = expected_labels(model);
    const json report =
        report_of(Words{"predict", labels_model(model)} + label_words(expected["texts"][0]));
    for (const json& row : report["rows"]) {
      const double logit = expected["logits"][0][row["label_id"].get<std::size_t>()];
      EXPECT_NEAR(row["probability"].get<double>(), 1 / (1 + std::exp(-logit)), kLogitTolerance);
    }
  }
}

TEST(PredictLabels, EachTokenOfATokenClassifier) {
  const json expected = expected_labels("bert-tokens");
  const json report = report_of(Words{"predict", labels_model("bert-tokens"), "--top", "1"} +
                                label_words(expected["texts"][0]));
  const json& logits = expected["logits"][0];
  ASSERT_EQ(report["rows"].size(), logits.size());
  for (std::size_t at = 0; at < logits.size(); ++at) {
    const json& row = report["rows"][at];
    EXPECT_EQ(row["position"], at);
    const auto best = std::max_element(logits[at].begin(), logits[at].end());
    EXPECT_EQ(row["label_id"], best - logits[at].begin());
    EXPECT_NEAR(row["logit"].get<double>(), best->get<double>(), kLogitTolerance);
  }
}

TEST(PredictLabels, AnswersAreSpansOfTheSecondText) {
  const json expected = expected_labels("bert-answers");
  const json& text = expected["texts"][2];
  const json report =
      report_of(Words{"predict", labels_model("bert-answers"), "--top", "100"} + label_words(text));
  double best = -INFINITY;
  const json& logits = expected["logits"][2];
  for (std::size_t first = 0; first < logits.size(); ++first) {
    for (std::size_t last = first; last < logits.size() && text["types"][first] == 1; ++last) {
      best = std::max(best, logits[first][0].get<double>() + logits[last][1].get<double>());
    }
  }
  EXPECT_EQ(report["parameters"]["labels"], "span");
  EXPECT_NEAR(report["rows"][0]["logit"].get<double>(), best, kLogitTolerance);
  EXPECT_TRUE(report["rows"][0]["label_id"].is_null());
  for (const json& row : report["rows"]) {
    EXPECT_EQ(text["types"][row["position"].get<std::size_t>()], 1);
    EXPECT_LE(row["position"], row["last_position"]);
  }
}

TEST(PredictLabels, OfSeveralTexts) {
  const Words run = {"predict", labels_model("bert"), "--text", "the king", "--text", "Who?"};
  const json report = report_of(run);
  ASSERT_EQ(report["rows"].size(), 6u);
  json row = report["rows"][3];
  EXPECT_EQ(row["sequence"], 1);
  row.erase("sequence");
  EXPECT_EQ(row, report_of({"predict", labels_model("bert"), "--text", "Who?"})["rows"][0]);
  EXPECT_TRUE(contains(output_of(run), "positive"));
}

TEST(PredictLabels, TableOfTextsHasNoPositions) {
  EXPECT_FALSE(
      contains(output_of({"predict", labels_model("bert"), "--tokens", "2,7,3"}), "position"));
  EXPECT_TRUE(contains(output_of({"predict", labels_model("bert-tokens"), "--tokens", "2,7,3"}),
                       "position"));
}

TEST(PredictLabels, UnknownTokensOfAllTextsAreReported) {
  const Words known = {"predict", labels_model("bert"), "--text", "king"};
  EXPECT_FALSE(contains(run_attnscope(known).err, "unknown"));
  EXPECT_TRUE(contains(run_attnscope(known + Words{"--text", "zz zz zz zz zz zz zz zz"}).err,
                       "8 of 13 tokens are unknown"));
}

TEST(PredictLabels, AreSaved) {
  const TempFolder folder;
  const std::string file = (folder.path() / "run.safetensors").string();
  const json expected = expected_labels("llama");
  output_of(Words{"predict", labels_model("llama"), "--save", file} +
            label_words(expected["texts"][0]));
  const Checkpoint saved = Checkpoint::open(file);
  ASSERT_NE(saved.find("logits"), nullptr);
  EXPECT_EQ(saved.find("logits")->view.shape, Shape{3});
}

/// The difference of a label and itself.
TEST(PredictLabels, TheOnlyLabelCanBeSubtracted) {
  const json report = report_of({"predict", data_path("classifiers/llama-reward"), "--tokens",
                                 "1,2,3", "--attribution", "--label", "0", "--against", "0"});
  const json& attributed = report["models"][0]["attributed"];
  EXPECT_EQ(attributed["logit"], 0);
  double sum = 0;
  for (const json& row : report["rows"]) sum += row["direct_effect"].get<double>();
  EXPECT_NEAR(sum, 0, 1e-6);
}

TEST(PredictLabels, AreNotTokens) {
  const std::string model = labels_model("llama");
  expect_refusals(5, {{"perplexity",
                       {"predict", model, "--tokens", "2,7,9", "--perplexity"},
                       {"predicts labels, not tokens"}},
                      {"attribution to the next tokens",
                       {"predict", model, "--tokens", "2,7,9", "--attribution"},
                       {"predicts labels, not tokens"}},
                      {"attribution to a token",
                       {"predict", model, "--tokens", "2,7,9", "--attribution", "--token", "39"},
                       {"predicts labels, not tokens"}},
                      {"lens", {"lens", model, "--tokens", "2,7,9"}, {"labels, not tokens"}},
                      {"ablate", {"ablate", model, "--tokens", "2,7,9"}, {"labels, not tokens"}}});
  expect_refusals(
      2, {{"two kinds",
           {"predict", labels_model("bert"), labels_model("bert-tokens"), "--tokens", "2,7,3"},
           {"run the models separately"}},
          {"a label without attribution",
           {"predict", model, "--tokens", "2,7", "--label", "neutral"},
           {"--label", "requires --attribution"}},
          {"generation",
           {"predict", model, "--tokens", "2,7", "--generate", "3"},
           {"--generate", "requires a language model", "is a classifier"}}});
}

}  // namespace
}  // namespace attnscope::test
