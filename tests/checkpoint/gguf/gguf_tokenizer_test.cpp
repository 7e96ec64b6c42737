// Tokenizers inside GGUF files (tools/make_gguf_files.py) encode 500 difficult texts exactly like
// the tokenizer.json that they were made from.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/checkpoint/gguf/gguf_tokenizer.h"
#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/gguf_writer.h"

namespace attnscope {
namespace {

using namespace test;

const std::filesystem::path kRoot = ATTNSCOPE_SOURCE_DIR;
const std::filesystem::path kInside = kRoot / "tests/data/gguf/tokenizers";
const std::filesystem::path kOutside = kRoot / "tests/inputs/text/tokenizers";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class GgufTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(GgufTokenizer, EncodesLikeItsTokenizerJson) {
  const std::string name = GetParam();
  const MappedFile mapped(kInside / (name + ".gguf"));
  std::vector<std::string> notes;
  const auto make =
      gguf_tokenizer(std::make_shared<const GgufFile>(parse_gguf(mapped.bytes(), name)), notes);
  ASSERT_TRUE(make);
  EXPECT_TRUE(notes.empty());
  const Tokenizer got = Tokenizer::of_json(make(), name);
  const auto whole = name == "llama" ? kInside / "llama.json" : kOutside / name / "tokenizer.json";
  const Tokenizer wanted = Tokenizer::of_json(text_of(whole), name);

  EXPECT_EQ(got.count(), wanted.count());
  const nlohmann::json texts = nlohmann::json::parse(std::ifstream(kOutside / "texts.json"));
  for (const std::string entry : texts) {
    for (const bool special : {false, true}) {
      const auto ids = wanted.encode(entry, special);
      ASSERT_EQ(got.encode(entry, special), ids) << entry;
      ASSERT_EQ(got.decode(ids, special), wanted.decode(ids, special)) << entry;
    }
  }
}

/// Unigram tokenizers such as XLM-RoBERTa's (tools/make_pre_tokenizers.py): the most likely pieces,
/// with a table of character replacements.
TEST(GgufTokenizerOfPieces, EncodesLikeItsTokenizerJson) {
  const auto folder = kRoot / "tests/data/gguf-families";
  const MappedFile mapped(folder / "pieces.gguf");
  std::vector<std::string> notes;
  const auto make =
      gguf_tokenizer(std::make_shared<const GgufFile>(parse_gguf(mapped.bytes(), "p")), notes);
  ASSERT_TRUE(make);
  EXPECT_TRUE(notes.empty());
  const Tokenizer got = Tokenizer::of_json(make(), "gguf");
  const auto wanted = Tokenizer::of_json(text_of(folder / "pieces.json"), "pieces.json");
  EXPECT_EQ(got.count(), wanted.count());
  const nlohmann::json texts = nlohmann::json::parse(std::ifstream(kOutside / "texts.json"));
  std::size_t known = 0;
  for (const std::string entry : texts) {
    for (const bool special : {false, true}) {
      const auto ids = wanted.encode(entry, special);
      ASSERT_EQ(got.encode(entry, special), ids) << entry;
      ASSERT_EQ(got.decode(ids, special), wanted.decode(ids, special)) << entry;
      known += ids.size();
    }
  }
  EXPECT_GT(known, 1000u);
  // The table replaces this character by another.
  EXPECT_EQ(got.encode("\uFF11", false), got.encode("1", false));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, GgufTokenizer,
                         testing::Values("gpt2", "bert", "llama", "llama3"),
                         [](const auto& kind) { return std::string(kind.param); });

/// Contents of the tokenizer.json; empty if there is none.
std::string gguf_tokenizer(const std::vector<std::string>& values,
                           std::vector<std::string>& notes) {
  const std::string bytes = gguf_bytes(values, {}, 0);
  const auto make = gguf_tokenizer(
      std::make_shared<const GgufFile>(parse_gguf(std::as_bytes(std::span(bytes)), "m.gguf")),
      notes);
  return make ? make() : "";
}

std::string list_of(std::string_view key, const std::vector<std::string>& texts) {
  std::string items;
  for (const std::string& text : texts) items += gguf_text(text);
  return gguf_pair(key, gguf_array, gguf_array_of(gguf_string, texts.size(), items));
}

std::string kind(std::string_view name) {
  return gguf_pair("tokenizer.ggml.model", gguf_string, gguf_text(name));
}

TEST(GgufTokenizerNotes, NameUnsupportedParts) {
  std::vector<std::string> notes;
  EXPECT_EQ(gguf_tokenizer({}, notes), "");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(gguf_tokenizer({kind("rwkv"), list_of("tokenizer.ggml.tokens", {"a"})}, notes), "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "its tokenizer 'rwkv' is not supported: pass token ids instead");
  EXPECT_EQ(gguf_tokenizer({kind("llama")}, notes), "");
  const auto pre = gguf_pair("tokenizer.ggml.pre", gguf_string, gguf_text("new"));
  EXPECT_NE(gguf_tokenizer({kind("gpt2"), pre, list_of("tokenizer.ggml.tokens", {"a"})}, notes),
            "");
  EXPECT_EQ(notes.back(),
            "texts are split into words like in GPT-2, because the rule 'new' is unknown");
}

TEST(GgufTokenizerErrors, NameTheError) {
  std::vector<std::string> notes;
  const std::string tokens = list_of("tokenizer.ggml.tokens", {"a", "b", "ab"});
  const auto merges = [](const char* merge) { return list_of("tokenizer.ggml.merges", {merge}); };
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      gguf_tokenizer({kind("gpt2"), tokens, merges("ab")}, notes),
                      "m.gguf: the merge 'ab' is not two tokens separated by a space");
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      gguf_tokenizer({kind("gpt2"), tokens, merges("b a")}, notes),
                      "the merge 'b a' requires a token that is missing");
  EXPECT_ERROR_SAYING(ErrorKind::format, gguf_tokenizer({kind("t5"), tokens}, notes),
                      "m.gguf: its tokenizer has 3 tokens and 0 scores");
  const auto scores = gguf_pair("tokenizer.ggml.scores", gguf_array,
                                gguf_array_of(gguf_f32, 3, std::string(12, '\0')));
  EXPECT_ERROR_SAYING(ErrorKind::format, gguf_tokenizer({kind("t5"), tokens, scores}, notes),
                      "m.gguf: its tokenizer has no token for unknown text");
  const auto flat = gguf_pair("tokenizer.ggml.tokens", gguf_u32, number_bytes<std::uint32_t>(3));
  EXPECT_ERROR_SAYING(ErrorKind::format, gguf_tokenizer({kind("llama"), flat}, notes),
                      "the value of 'tokenizer.ggml.tokens' is not a list of texts");
}

}  // namespace
}  // namespace attnscope
