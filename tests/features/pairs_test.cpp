// Pairs of texts, token types, and several texts: ids, maps and means as in transformers
// (tools/golden_classifiers.py).
#include <cmath>
#include <fstream>

#include "attnscope/inputs/text/tokenizer.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

std::string classifier(const std::string& name) { return data_path("classifiers/" + name); }

json pair_of(const std::string& name) {
  return json::parse(std::ifstream(classifier(name) + "/expected.json")).at("pair");
}

std::string ids_of(const json& ids) { return ids_text(ids.get<std::vector<std::int64_t>>()); }

class Pairs : public testing::TestWithParam<const char*> {};

TEST_P(Pairs, TokenizerGivesIdsTypesAndTexts) {
  const json pair = pair_of(GetParam());
  const Tokenizer tokenizer = Tokenizer::open(CheckpointFolder(classifier(GetParam())));
  const TokenIds ids = tokenizer.encode_pair(pair["text"].get<std::string>(),
                                             pair["text_pair"].get<std::string>(), true);
  EXPECT_EQ(json(static_cast<const std::vector<std::int64_t>&>(ids)), pair["tokens"]);
  EXPECT_EQ(json(ids.types), pair["types"]);
  EXPECT_EQ(json(ids.texts), pair["texts"]);
}

TEST_P(Pairs, AttentionBetweenTheTextsEqualsTransformers) {
  const json pair = pair_of(GetParam());
  const Words given = {"--text", pair["text"].get<std::string>(), "--text-pair",
                       pair["text_pair"].get<std::string>()};
  const json report = report_of(Words{"attention", classifier(GetParam())} + given);
  std::size_t heads = 0;
  for (const json& row : report["rows"]) {
    if (row["head"].is_null()) continue;
    const auto layer = row["layer"].get<std::size_t>(), head = row["head"].get<std::size_t>();
    EXPECT_NEAR(row["a_to_b"].get<double>(), pair["a_to_b"][layer][head].get<double>(), 2e-5);
    EXPECT_NEAR(row["b_to_a"].get<double>(), pair["b_to_a"][layer][head].get<double>(), 2e-5);
    // Without a mask, uniform attention gives each text its share of the tokens.
    double of_b = 0;
    for (const json& text : pair["texts"]) of_b += text == 1 ? 1 : 0;
    EXPECT_NEAR(row["uniform_a_to_b"].get<double>(),
                of_b / static_cast<double>(pair["texts"].size()), 1e-12);
    ++heads;
  }
  EXPECT_EQ(heads, 4u);
  // The tokens of predict, and the same run by ids.
  const json tokens = report_of(Words{"predict", classifier(GetParam())} + given);
  json ids = json::array();
  for (const json& token : tokens["models"][0]["tokens"]) ids.push_back(token["id"]);
  EXPECT_EQ(ids, pair["tokens"]);
}

INSTANTIATE_TEST_SUITE_P(All, Pairs, testing::Values("bert", "roberta"));

TEST(TokenTypes, ReplaceThoseOfTheTokenizer) {
  const json pair = pair_of("bert");
  const std::string model = classifier("bert"), ids = ids_of(pair["tokens"]);
  const json by_text = report_of({"predict", model, "--text", pair["text"].get<std::string>(),
                                  "--text-pair", pair["text_pair"].get<std::string>()});
  const json by_ids =
      report_of({"predict", model, "--tokens", ids, "--token-types", ids_of(pair["types"])});
  const json untyped = report_of({"predict", model, "--tokens", ids});
  EXPECT_EQ(by_text["rows"], by_ids["rows"]);
  EXPECT_NE(by_text["rows"], untyped["rows"]);
  // Types tell the texts apart if there is no tokenizer to do it.
  const json maps =
      report_of({"attention", model, "--tokens", ids, "--token-types", ids_of(pair["types"])});
  EXPECT_TRUE(maps["rows"][0].contains("a_to_b"));
  EXPECT_FALSE(report_of({"attention", model, "--tokens", ids})["rows"][0].contains("a_to_b"));
}

TEST(TokenTypes, AreRefusedIfTheyDoNotFit) {
  const std::string model = classifier("bert"), untyped = classifier("distilbert");
  expect_refusals(
      2, {{"another count",
           {"predict", model, "--tokens", "2,7,3", "--token-types", "0,0"},
           {"--token-types", "2 token types for 3 tokens"}},
          {"no such type",
           {"predict", model, "--tokens", "2,7,3", "--token-types", "0,2,0"},
           {"token type 2 is out of range", "2 token types"}},
          {"no types",
           {"predict", untyped, "--tokens", "2,7,3", "--token-types", "0,1,0"},
           {"token type 1 is out of range"}},
          {"several texts",
           {"attention", model, "--text", "king", "--text", "who", "--token-types", "0,0,0"},
           {"--token-types", "single text"}},
          {"no text", {"predict", model, "--text-pair", "king"}, {"missing input text"}},
          {"one pair for two texts",
           {"attention", model, "--text", "king", "--text", "who", "--text-pair", "rules"},
           {"--text-pair", "given 1 time, expected one for each of 2 --text"}},
          {"pair of ids",
           {"predict", model, "--tokens", "2,7", "--text-pair", "king"},
           {"--text-pair", "--tokens"}}});
}

TEST(SeveralTexts, AreSeparateSequences) {
  const std::string model = classifier("bert");
  const Words texts = {"--text", "Who rules?", "--text", "The king is good.", "--text", "who"};
  const json all = report_of(Words{"attention", model, "--layers", "1"} + texts);
  EXPECT_EQ(all["parameters"]["sequences"], 3);
  double entropy = 0;
  for (std::size_t at = 1; at < texts.size(); at += 2) {
    entropy +=
        report_of({"attention", model, "--layers", "1", "--text", texts[at]})["rows"][0]["entropy"]
            .get<double>();
  }
  EXPECT_EQ(all["rows"][0]["sequences"], 3);
  EXPECT_NEAR(all["rows"][0]["entropy"].get<double>(), entropy / 3, 1e-5);
}

TEST(SeveralTexts, PairsOfTextsHaveMeansToo) {
  const std::string model = classifier("bert");
  const Words first = {"--text", "Who rules?", "--text-pair", "The king."},
              second = {"--text", "The play is long.", "--text-pair", "good"};
  const auto a_to_b = [&](const Words& given) {
    return report_of(Words{"attention", model} + given)["rows"][0]["a_to_b"].get<double>();
  };
  EXPECT_NEAR(a_to_b(first + second), (a_to_b(first) + a_to_b(second)) / 2, 1e-6);
}

TEST(SeveralTexts, EachIsPredicted) {
  const std::string model = kShakespeare;
  const json all =
      report_of({"predict", model, "--text", "To be", "--text", "Good night", "--top", "2"});
  ASSERT_EQ(all["rows"].size(), 4u);
  for (std::size_t text = 0; text < 2; ++text) {
    const json alone =
        report_of({"predict", model, "--text", text == 0 ? "To be" : "Good night", "--top", "2"});
    json row = all["rows"][2 * text];
    EXPECT_EQ(row["sequence"], text);
    row.erase("sequence");
    EXPECT_EQ(row, alone["rows"][0]);
  }
  EXPECT_EQ(all["models"][0]["tokens"].back()["sequence"], 1);
  const std::string table = output_of({"predict", model, "--text", "To be", "--text", "Good"});
  EXPECT_TRUE(contains(table, "To| be") || contains(table, "be")) << table;
  expect_refusal({"predict", model, "--text", "To", "--text", "be", "--generate", "3"}, 2,
                 {"--text", "--generate takes one text"});
}

}  // namespace
}  // namespace attnscope::test
