// Logits of classifiers equal those of transformers for padded, masked batches of texts and pairs
// (tools/golden_classifiers.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/label_probabilities.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path classifiers() { return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/classifiers"; }

json expected_of_case(const std::string& name) {
  return json::parse(std::ifstream(classifiers() / name / "expected.json"));
}

TokenIds ids_of_json(const json& text) {
  TokenIds ids(text.at("tokens").get<std::vector<std::int64_t>>());
  if (text.contains("types")) ids.types = text.at("types").get<std::vector<std::int64_t>>();
  return ids;
}

std::vector<double> flat(const json& values) {
  if (values.is_number()) return {values.get<double>()};
  std::vector<double> out;
  for (const json& each : values) {
    for (const double value : flat(each)) out.push_back(value);
  }
  return out;
}

class Classifiers : public testing::TestWithParam<std::string> {};

TEST_P(Classifiers, LogitsEqualTransformers) {
  const Model model = Model::open(classifiers() / GetParam());
  const json expected = expected_of_case(GetParam());
  const ForwardPass pass(model, /*copy_weights=*/true, {});
  ASSERT_TRUE(pass.predicts_labels());
  ASSERT_FALSE(pass.no_logits().empty());  // nothing mistakes labels for tokens
  for (std::size_t at = 0; at < expected.at("texts").size(); ++at) {
    const TokenIds ids = ids_of_json(expected.at("texts")[at]);
    const Matrix<float> states = pass.run(std::span(&ids, 1), {}, {});
    const Matrix<float> logits = pass.label_logits(states.view(), ids, {});
    const std::vector<double> wanted = flat(expected.at("logits")[at]);
    ASSERT_EQ(logits.rows() * logits.cols(), std::ssize(wanted));
    double largest = 1;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    // Two layers and the head: about 30 float32 sums of at most 24 terms, each off by at most
    // 24 eps of its terms, which norms keep near 1.
    const double tolerance = 30 * 24 * 1.2e-7 * largest;
    for (std::size_t value = 0; value < wanted.size(); ++value) {
      EXPECT_NEAR(logits.data()[value], wanted[value], tolerance) << "text " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Classifiers,
                         testing::Values("bert", "bert-tokens", "bert-answers", "roberta",
                                         "roberta-tokens", "xlm-roberta", "distilbert", "electra",
                                         "electra-answers", "deberta-v2", "albert", "ernie",
                                         "layoutlm", "rembert", "big_bird", "roformer", "gte",
                                         "mpnet", "esm", "modernbert", "modernbert-tokens", "gpt2",
                                         "llama", "llama-reward", "qwen3-tokens"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(LabelLogits, LastTokenIsTheLastThatIsNotPadding) {
  const Model model = Model::open(classifiers() / "gpt2");
  const ForwardPass pass(model, /*copy_weights=*/true, {});
  const auto logits_of = [&](const TokenIds& ids) {
    const Matrix<float> states = pass.run(std::span(&ids, 1), {}, {});
    const Matrix<float> logits = pass.label_logits(states.view(), ids, {});
    return std::vector<float>(logits.data(), logits.data() + logits.cols());
  };
  EXPECT_EQ(logits_of({3, 9, 8, 0, 0}), logits_of({3, 9, 8}));
  EXPECT_NE(logits_of({3, 9, 8, 7}), logits_of({3, 9, 8}));
}

TEST(LabelLogits, TokenTypesChangeTheLogitsAndAreChecked) {
  const Model model = Model::open(classifiers() / "bert");
  const ForwardPass pass(model, /*copy_weights=*/true, {});
  const auto logits_of = [&](const TokenIds& ids) {
    const Matrix<float> states = pass.run(std::span(&ids, 1), {}, {});
    return pass.label_logits(states.view(), ids, {})(0, 0);
  };
  TokenIds ids = {2, 9, 3, 8, 3};
  const float plain = logits_of(ids);
  ids.types = {0, 0, 0, 0, 0};
  EXPECT_EQ(logits_of(ids), plain);
  ids.types = {0, 0, 0, 1, 1};
  EXPECT_NE(logits_of(ids), plain);
  ids.types = {0, 0, 0, 2, 1};
  EXPECT_THROW(pass.check(ids), Error);
  ids.types = {0, 0, 0};
  EXPECT_THROW(pass.check(ids), Error);
  const Model untyped = Model::open(classifiers() / "distilbert");
  const ForwardPass other(untyped, /*copy_weights=*/true, {});
  ids.types = {0, 0, 0, 1, 1};
  EXPECT_THROW(other.check(ids), Error);
}

TEST(LabelProbabilities, FollowTheProblemType) {
  LabelHeadSpec spec;
  EXPECT_EQ(label_probability(spec, 3), LabelProbability::softmax);
  EXPECT_EQ(label_probability(spec, 1), LabelProbability::sigmoid);
  spec.problem_type = "multi_label_classification";
  EXPECT_EQ(label_probability(spec, 3), LabelProbability::sigmoid);
  spec.problem_type = "regression";
  EXPECT_EQ(label_probability(spec, 1), LabelProbability::none);
  const std::vector<float> logits = {0, std::log(3.0F)};
  EXPECT_NEAR(*label_probabilities(LabelProbability::softmax, logits, {})[1], 0.75, 1e-7);
  EXPECT_NEAR(*label_probabilities(LabelProbability::sigmoid, logits, {})[1], 0.75, 1e-7);
  EXPECT_FALSE(label_probabilities(LabelProbability::none, logits, {})[1]);
}

TEST(LabelProbabilities, LabelsHaveNamesOrNumbers) {
  LabelHeadSpec spec{.names = {"yes", "no"}};
  EXPECT_EQ(label_name(spec, 1), "no");
  EXPECT_EQ(label_of(spec, 2, "no", "label"), 1);
  EXPECT_EQ(label_of(spec, 2, "0", "label"), 0);
  EXPECT_THROW(label_of(spec, 2, "2", "label"), Error);
  EXPECT_THROW(label_of(spec, 2, "maybe", "label"), Error);
  spec.names.clear();
  EXPECT_EQ(label_of(spec, 2, "LABEL_1", "label"), 1);
}

TEST(Answers, LieInTheSecondText) {
  Matrix<float> logits(6, 2);
  for (std::int64_t row = 0; row < 6; ++row) logits(row, 0) = logits(row, 1) = 0;
  logits(1, 0) = 9;  // in the question
  logits(3, 0) = 2;
  logits(4, 1) = 3;
  TokenIds ids = {2, 9, 3, 7, 8, 3};
  ids.texts = {-1, 0, -1, 1, 1, -1};
  const std::vector<AnswerSpan> found = most_likely_answers(logits.view(), ids, 5, {});
  ASSERT_EQ(found.size(), 3u);  // 3-4, 4-4, 3-3
  EXPECT_EQ(found[0].first, 3);
  EXPECT_EQ(found[0].last, 4);
  EXPECT_DOUBLE_EQ(found[0].logit, 5);
  const double first = std::exp(2) / (std::exp(2) + 1), last = std::exp(3) / (std::exp(3) + 1);
  EXPECT_NEAR(found[0].probability, first * last, 1e-12);
}

}  // namespace
}  // namespace attnscope::test
