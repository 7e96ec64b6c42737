// Token ids and decoded texts equal those of the Python package `tokenizers`
// (tools/make_tokenizers.py) for four kinds of tokenizers and 500 difficult texts. For files that
// transformers converts, they equal those of transformers (tools/make_vocabulary_files.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/inputs/text/tokenizer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using TokenizerGoldenIds = std::vector<std::int64_t>;

const std::filesystem::path kTokenizerGoldenData =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/inputs/text/tokenizers";

json read_json(const std::filesystem::path& file) { return json::parse(std::ifstream(file)); }

/// Expands long runs of one id, which are stored as [id, count].
TokenizerGoldenIds spelled_out(const json& runs) {
  TokenizerGoldenIds ids;
  for (const json& run : runs) {
    if (run.is_array()) {
      ids.insert(ids.end(), run[1].get<std::size_t>(), run[0].get<std::int64_t>());
    } else {
      ids.push_back(run.get<std::int64_t>());
    }
  }
  return ids;
}

TokenizerGoldenIds joined(const TokenizerGoldenIds& first, const TokenizerGoldenIds& ids,
                          const TokenizerGoldenIds& last) {
  TokenizerGoldenIds out = first;
  out.insert(out.end(), ids.begin(), ids.end());
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

void expect_as_recorded(const Tokenizer& tokenizer, const json& expected,
                        const TokenizerGoldenIds& first, const TokenizerGoldenIds& last) {
  const json texts = read_json(kTokenizerGoldenData / "texts.json");
  ASSERT_EQ(texts.size(), 500u);
  // Some tokenizers are compared on every n-th text.
  const std::size_t count = expected["ids"].size(), step = (texts.size() + count - 1) / count;
  for (std::size_t index = 0; index < count; ++index) {
    const std::string text = texts[index * step];
    SCOPED_TRACE("text " + std::to_string(index) + ": " + token_text(text));
    const TokenizerGoldenIds plain = spelled_out(expected["ids"][index]);
    const TokenizerGoldenIds whole = joined(first, plain, last);
    ASSERT_EQ(tokenizer.encode(text, /*special=*/false), plain);
    ASSERT_EQ(tokenizer.encode(text, /*special=*/true), whole);
    const json& decoded = expected["decoded"][index];
    const std::string without = decoded.is_null() ? text : decoded.get<std::string>();
    ASSERT_EQ(tokenizer.decode(whole, /*skip_special=*/true), without);
    const auto kept = expected["decoded_with_special"].find(std::to_string(index));
    const bool differs = kept != expected["decoded_with_special"].end();
    ASSERT_EQ(tokenizer.decode(plain, /*skip_special=*/false),
              differs ? kept->get<std::string>() : without);
  }
}

class GoldenTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTokenizer, EncodesAndDecodesLikeThePythonPackage) {
  const json expected = read_json(kTokenizerGoldenData / GetParam() / "expected.json");
  expect_as_recorded(Tokenizer::open(kTokenizerGoldenData / GetParam()), expected,
                     spelled_out(expected["first"]), spelled_out(expected["last"]));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, GoldenTokenizer,
                         testing::Values("gpt2", "bert", "llama", "llama3", "spm-llama",
                                         "spm-llama-legacy", "spm-gemma", "spm-t5",
                                         "spm-xlm-roberta", "spm-albert", "spm-deberta-v2",
                                         "tiktoken"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The vocabulary of a tokenizer.json, by id.
std::vector<std::string> vocabulary_of(const json& tokenizer) {
  const json& ids = tokenizer["model"]["vocab"];
  std::vector<std::string> spellings(ids.size());
  for (const auto& [spelling, id] : ids.items()) spellings.at(id.get<std::size_t>()) = spelling;
  return spellings;
}

TEST(OldTokenizerFiles, VocabularyAndMergesGiveTheSameTokenizer) {
  const json tokenizer = read_json(kTokenizerGoldenData / "gpt2/tokenizer.json");
  const test::TempFolder folder;
  folder.write("vocab.json", tokenizer["model"]["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const json& merge : tokenizer["model"]["merges"]) {
    merges += merge[0].get<std::string>() + ' ' + merge[1].get<std::string>() + '\n';
  }
  folder.write("merges.txt", merges);
  const json expected = read_json(kTokenizerGoldenData / "gpt2/expected.json");
  expect_as_recorded(Tokenizer::open(folder.path()), expected, {}, {});

  folder.write("tokenizer_config.json", R"({"add_bos_token": true})");
  const Tokenizer begun = Tokenizer::open(folder.path());
  expect_as_recorded(begun, expected, {begun.special_tokens().begin.value()}, {});
}

TEST(OldTokenizerFiles, AWordPieceVocabularyGivesTheSameTokenizer) {
  const json tokenizer = read_json(kTokenizerGoldenData / "bert/tokenizer.json");
  const test::TempFolder folder;
  std::string vocabulary;
  for (const std::string& spelling : vocabulary_of(tokenizer)) vocabulary += spelling + '\n';
  folder.write("vocab.txt", vocabulary);
  const json expected = read_json(kTokenizerGoldenData / "bert/expected.json");
  expect_as_recorded(Tokenizer::open(folder.path()), expected, spelled_out(expected["first"]),
                     spelled_out(expected["last"]));
}

}  // namespace
}  // namespace attnscope
