// `--token` and `--against` of `predict --attribution`, and the answers of prompts, each of which
// must be one token.
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

class NamedToken : public testing::Test {
 protected:
  /// A model whose tokenizer has only a few words and, unlike byte tokenizers, no tokens for
  /// others.
  NamedToken() {
    const std::filesystem::path examples = source_path("examples/shakespeare-gpt2");
    std::filesystem::create_directory(folder_.path() / "words");
    for (const char* name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(examples / name, folder_.path() / "words" / name);
    }
    const json vocabulary = {{"[OTHER]", 0}, {"to", 1}, {"be", 2}, {"or", 3}, {"not", 4}, {"9", 5}};
    folder_.write(
        "words/tokenizer.json",
        json{{"version", "1.0"},
             {"normalizer", {{"type", "Lowercase"}}},
             {"pre_tokenizer", {{"type", "Whitespace"}}},
             {"added_tokens", json::array()},
             {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[OTHER]"}}}}
            .dump());
  }

  json attributed(const Words& token) const {
    const RunResult run = run_attnscope(words_ + token + Words{"--format", "json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return json::parse(run.out)["models"][0]["attributed"];
  }

  TempFolder folder_;
  const std::string model_ = (folder_.path() / "words").string();
  const Words words_ = {"predict", model_, "--text", "to be or not to", "--attribution"};
};

TEST_F(NamedToken, RejectsUnknownTextAndShowsItsTokens) {
  const std::string prompt = R"({"clean": "to be", "correct": "zzz", "incorrect": "not"})";
  const std::string prompts = folder_.write("p.jsonl", prompt).string();
  expect_refusals(
      kUsage,
      {{"token",
        words_ + Words{"--token", "zzz"},
        {"--token: 'zzz' is unknown to the tokenizer of words", "'[OTHER]' (id 0, unknown)"}},
       {"against", words_ + Words{"--token", "be", "--against", "zzz"}, {"--against: 'zzz' is"}},
       {"several",
        words_ + Words{"--token", "be zzz"},
        {"'be zzz' is 2 tokens in words, expected one token: 'be' (id 2), '[OTHER]' (id 0, "
         "unknown)"}}});
  expect_refusal({"lens", model_, "--prompts", prompts}, kBadFile,
                 {"line 1: 'correct': 'zzz' is unknown to the tokenizer of words"});
}

TEST_F(NamedToken, AnIdEqualsTheTokenOfItsText) {
  EXPECT_EQ(attributed({"--token", "2", "--against", "4"}),
            attributed({"--token", "be", "--against", "not"}));
  expect_refusal(words_ + Words{"--token", "1024"}, kUsage,
                 {"--token: token id 1024 is not in the vocabulary of words, expected 0 to 1023"});
  const Words no_tokenizer = {
      "predict", data_path("forward/gemma2"), "--tokens", "1,2,3", "--attribution", "--token"};
  EXPECT_EQ(run_attnscope(no_tokenizer + Words{"5"}).exit_code, 0);
  expect_refusal(no_tokenizer + Words{"be"}, kUsage, {"tokenizer.json"});
}

TEST_F(NamedToken, NotesHowATextIsTokenized) {
  const Words json_rows = {"--format", "json"};
  EXPECT_TRUE(contains(run_attnscope(words_ + Words{"--token", "Be"} + json_rows).err,
                       "--token: 'Be' is encoded as 'be' by the tokenizer of words"));
  EXPECT_TRUE(contains(run_attnscope(words_ + Words{"--token", "9"} + json_rows).err,
                       "--token 9 is used as a token id; the text '9' has id 5"));
}

}  // namespace
}  // namespace attnscope::test
