// Streamed text consists of whole characters, and in total equals the decoded tokens.
#include "attnscope/inputs/text/decode_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

const std::filesystem::path kData =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/inputs/text/tokenizers";

Tokenizer tokenizer_of(const std::string& name) {
  return Tokenizer::open(CheckpointFolder(kData / name));
}

class StreamedText : public testing::TestWithParam<const char*> {};

TEST_P(StreamedText, EqualsTheDecodedTokensInWholeCharacters) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const auto texts = nlohmann::json::parse(std::ifstream(kData / "texts.json"));
  for (const std::string text : texts) {
    const TokenIds ids = tokenizer.encode(text, /*special=*/true);
    const std::string whole = tokenizer.decode(ids, /*skip_special=*/true);
    TextStream stream(tokenizer);
    std::string given;
    for (const std::int64_t id : ids) {
      given += stream.add(id);
      ASSERT_FALSE(first_broken_utf8(given)) << whole;
      ASSERT_TRUE(whole.starts_with(given)) << whole << "\nbegins otherwise: " << given;
    }
    ASSERT_EQ(given + stream.end(), whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, StreamedText,
                         testing::Values("gpt2", "llama", "llama3", "bert"));

TEST(TextStream, BuffersAnIncompleteCharacter) {
  const Tokenizer tokenizer = tokenizer_of("gpt2");
  const auto byte = [&](const char* spelling) { return *tokenizer.id(spelling); };
  TextStream stream(tokenizer);  // F0 9F 99 82 is a smile
  EXPECT_EQ(stream.add(byte("a")), "a");
  EXPECT_EQ(stream.add(byte("ð")), "");
  EXPECT_EQ(stream.add(byte("Ł")), "");
  EXPECT_EQ(stream.add(byte("Ļ")), "");
  EXPECT_EQ(stream.add(byte("Ĥ")), "\U0001F642");
  EXPECT_EQ(stream.add(byte("ð")), "");
  EXPECT_EQ(stream.end(), "\uFFFD") << "what never was finished is shown as decode() has it";
}

}  // namespace
}  // namespace attnscope
