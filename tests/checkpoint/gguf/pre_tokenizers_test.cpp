// Pre-tokenizers named by llama.cpp split 500 difficult texts into the same words as the published
// tokenizer.json does in Hugging Face tokenizers (tools/make_pre_tokenizers.py).
#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attnscope/checkpoint/gguf/gguf_tokenizer.h"
#include "attnscope/checkpoint/gguf/pre_tokenizers.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "tests/support/gguf_writer.h"

namespace attnscope {
namespace {

using namespace test;

const std::string kSourceTree = ATTNSCOPE_SOURCE_DIR;

/// GPT-2's printable character for each byte.
std::vector<std::string> letters_of_bytes() {
  std::vector<std::string> letters;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool plain =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const unsigned point = plain ? byte : next++;
    std::string letter;
    if (point < 0x80) {
      letter += static_cast<char>(point);
    } else {
      letter += static_cast<char>(0xC0 | point >> 6);
      letter += static_cast<char>(0x80 | (point & 0x3F));
    }
    letters.push_back(letter);
  }
  return letters;
}

struct Vocabulary {
  std::string tokens, merges;
};

/// Vocabulary of every byte and every pair of bytes, merged in order, so that token ids show word
/// boundaries.
Vocabulary pairs_of_bytes() {
  const std::vector<std::string> letters = letters_of_bytes();
  Vocabulary out;
  for (const std::string& letter : letters) out.tokens += gguf_text(letter);
  for (const std::string& first : letters) {
    for (const std::string& second : letters) {
      out.tokens += gguf_text(first + second);
      out.merges += gguf_text(first + " " + second);
    }
  }
  return out;
}

std::string tokenizer_values(const std::string& pre) {
  static const Vocabulary vocabulary = pairs_of_bytes();  // shared by all cases
  const auto text = [](const char* key, const std::string& value) {
    return gguf_pair(key, gguf_string, gguf_text(value));
  };
  const auto list = [](const char* key, std::uint64_t count, const std::string& items) {
    return gguf_pair(key, gguf_array, gguf_array_of(gguf_string, count, items));
  };
  return gguf_bytes({text("tokenizer.ggml.model", "gpt2"), text("tokenizer.ggml.pre", pre),
                     list("tokenizer.ggml.tokens", 256 + 65536, vocabulary.tokens),
                     list("tokenizer.ggml.merges", 65536, vocabulary.merges)},
                    {}, 0);
}

std::map<std::string, std::string> published() {
  std::ifstream file(kSourceTree + "/tests/data/gguf-families/pre_tokenizers.json");
  return nlohmann::json::parse(file).get<std::map<std::string, std::string>>();
}

/// FNV-1a hash of the token ids of the difficult texts. Many names share a tokenizer, so that each is
/// run once.
std::string hash_of_ids(const std::string& tokenizer_json, const std::string& name) {
  static std::map<std::string, std::string> known;
  std::string& found = known[tokenizer_json];
  if (!found.empty()) return found;
  const Tokenizer tokenizer = Tokenizer::of_json(tokenizer_json, name);
  std::uint64_t hash = 0xCBF29CE484222325;
  std::ifstream file(kSourceTree + "/tests/inputs/text/tokenizers/texts.json");
  for (const std::string text : nlohmann::json::parse(file)) {
    for (const auto id : tokenizer.encode(text, /*special=*/false)) {
      for (unsigned shift = 0; shift < 32; shift += 8) {
        hash = (hash ^ (static_cast<std::uint32_t>(id) >> shift & 0xFF)) * 0x100000001B3;
      }
    }
  }
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << hash;
  return found = out.str();
}

class PreTokenizerOf : public testing::TestWithParam<std::pair<const std::string, std::string>> {};

TEST_P(PreTokenizerOf, SplitsLikeThePublishedOne) {
  const auto& [name, wanted] = GetParam();
  ASSERT_NE(find_pre_tokenizer(name), nullptr);
  const std::string bytes = tokenizer_values(name);
  std::vector<std::string> notes;
  const auto make = gguf_tokenizer(
      std::make_shared<const GgufFile>(parse_gguf(std::as_bytes(std::span(bytes)), name)), notes);
  ASSERT_TRUE(make);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(hash_of_ids(make(), name), wanted);
}

INSTANTIATE_TEST_SUITE_P(Published, PreTokenizerOf, testing::ValuesIn(published()),
                         [](const auto& entry) {
                           std::string name = entry.param.first;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
