#include "attnscope/inputs/text/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// A tokenizer.json with a vocabulary of letters and the given `parts`.
Tokenizer letters_with(const json& parts) {
  json vocabulary = {{"<unk>", 0}};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary[std::string(1, letter)] = vocabulary.size();
  }
  json whole = {{"version", "1.0"},
                {"added_tokens", json::array()},
                {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
  whole.update(parts);
  return Tokenizer::of_json(whole.dump(), "tokenizer.json");
}

json repeated(const char* list, const json& step, int count) {
  return {{"type", "Sequence"}, {list, std::vector<json>(static_cast<std::size_t>(count), step)}};
}

const json kTenfold = {
    {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaaaa"}};
const json kTenfoldRegex = {
    {"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", "aaaaaaaaaa"}};

class TokenizerMemory : public testing::Test {
 protected:
  TokenizerMemory() { limit_tokenizer_memory(100'000'000); }
  ~TokenizerMemory() override { limit_tokenizer_memory(std::uint64_t{4} << 30); }
};

/// Each would need gigabytes for one short text. Each is rejected before that.
TEST_F(TokenizerMemory, RejectsStepsThatNeedTooMuchMemory) {
  const json doubled = {{"type", "TemplateProcessing"},
                        {"single",
                         {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
                        {"pair",
                         {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                          {{"Sequence", {{"id", "B"}, {"type_id", 0}}}}}},
                        {"special_tokens", json::object()}};
  const struct {
    const char* what;
    json parts;
  } cases[] = {
      {"replacements", {{"normalizer", repeated("normalizers", kTenfold, 9)}}},
      {"regular expressions", {{"normalizer", repeated("normalizers", kTenfoldRegex, 9)}}},
      {"one long content",
       {{"normalizer",
         {{"type", "Replace"},
          {"pattern", {{"String", "a"}}},
          {"content", std::string(1'000'000, 'b')}}}}},
      {"at empty matches",
       {{"normalizer",
         {{"type", "Replace"},
          {"pattern", {{"Regex", ""}}},
          {"content", std::string(1'000'000, 'b')}}}}},
      {"templates", {{"post_processor", repeated("processors", doubled, 30)}}},
      {"spelling of the unknown",
       {{"model",
         {{"type", "WordLevel"},
          {"vocab", {{std::string(1'000'000, 'u'), 0}, {"a", 1}}},
          {"unk_token", std::string(1'000'000, 'u')}}},
        {"pre_tokenizer", {{"type", "WhitespaceSplit"}}}}},
  };
  const std::string text = "a banana and a zebra eat a salad at a park";
  for (const auto& [what, parts] : cases) {
    SCOPED_TRACE(what);
    const Tokenizer tokenizer = letters_with(parts);
    std::string long_text;
    while (long_text.size() < 1000) long_text += text;
    EXPECT_ERROR_SAYING(ErrorKind::format, tokenizer.encode(long_text, true),
                        "tokenizer.json: cannot encode the text: its steps turn ",
                        " bytes of text into more than fits in 100 MB of memory");
  }
}

/// The Rust crate normalizes added tokens while it reads the file.
TEST_F(TokenizerMemory, RejectsAddedTokensThatNeedTooMuchMemory) {
  const json token = {{"id", 27},        {"content", "aaaa"}, {"single_word", false},
                      {"lstrip", false}, {"rstrip", false},   {"normalized", true},
                      {"special", false}};
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      letters_with({{"normalizer", repeated("normalizers", kTenfold, 9)},
                                    {"added_tokens", json::array({token})}}),
                      "tokenizer.json: is not a valid tokenizer: its steps turn 4 bytes");
}

TEST_F(TokenizerMemory, RejectsDecodersThatNeedTooMuchMemory) {
  const Tokenizer tokenizer = letters_with({{"decoder", repeated("decoders", kTenfold, 9)}});
  EXPECT_ERROR_SAYING(ErrorKind::format, tokenizer.decode(std::vector<std::int64_t>{1, 2}, false),
                      "tokenizer.json: cannot decode the ids: its steps turn ");
}

/// A text that does not grow is accepted even if the same steps could make the worst text too
/// large.
TEST_F(TokenizerMemory, AcceptsTextThatDoesNotGrow) {
  limit_tokenizer_memory(1);
  const Tokenizer tokenizer =
      letters_with({{"normalizer",
                     {{"type", "Sequence"},
                      {"normalizers",
                       {{{"type", "NFKC"}},
                        {{"type", "Replace"}, {"pattern", {{"Regex", "q{2,}"}}}, {"content", "x"}},
                        {{"type", "Replace"},
                         {"pattern", {{"String", "zz"}}},
                         {"content", "aaaaaaaaaaaaaaaaaaaaaa"}}}}}}});
  std::string text;
  while (text.size() < 200'000) text += "abcdefgh";
  EXPECT_EQ(tokenizer.encode(text, false).size(), text.size());
  EXPECT_EQ(tokenizer.encode("aqqzzb", false).size(), 25u);
}

}  // namespace
}  // namespace attnscope
