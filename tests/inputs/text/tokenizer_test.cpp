#include "attnscope/inputs/text/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using TokenizerIds = std::vector<std::int64_t>;

const std::filesystem::path kTokenizerData =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/inputs/text/tokenizers";

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string with(std::string text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) throw std::runtime_error("no " + std::string(before));
  return text.replace(at, before.size(), after);
}

TEST(Tokenizer, ReturnsTheTextOfTokens) {
  const auto shown = [](const Tokenizer& tokenizer, std::string_view spelling) {
    return tokenizer.text(tokenizer.id(spelling).value(), Spaces::visible);
  };
  const Tokenizer gpt2 = Tokenizer::open(kTokenizerData / "gpt2");
  EXPECT_EQ(shown(gpt2, "Ġthe"), "␣the");
  EXPECT_EQ(shown(gpt2, "Ċ"), "\\n");
  EXPECT_EQ(shown(gpt2, "â"), "\\xE2");
  EXPECT_EQ(shown(gpt2, "Ń"), "\\xAD");
  EXPECT_EQ(shown(gpt2, "Ģ"), "\\x80");
  EXPECT_EQ(shown(gpt2, "ł"), "\\xA0");
  EXPECT_EQ(shown(gpt2, "ġ"), "\\u{7F}");
  EXPECT_EQ(shown(gpt2, "Ā"), "\\u{0}");
  EXPECT_EQ(shown(gpt2, "<|endoftext|>"), "<|endoftext|>");
  const Tokenizer llama = Tokenizer::open(kTokenizerData / "llama");
  EXPECT_EQ(shown(llama, "▁the"), "␣the");
  EXPECT_EQ(shown(llama, "<0x0A>"), "\\n");
  EXPECT_EQ(shown(llama, "<0xE2>"), "\\xE2");
  EXPECT_EQ(shown(llama, "<s>"), "<s>");
  const Tokenizer bert = Tokenizer::open(kTokenizerData / "bert");
  EXPECT_EQ(shown(bert, "##ing"), "##ing");
  EXPECT_EQ(bert.text(99'999), "<no token 99999>");
  EXPECT_EQ(bert.text(-1), "<no token -1>");
}

TEST(Tokenizer, FindsTokensBySpellingAndId) {
  const Tokenizer bert = Tokenizer::open(kTokenizerData / "bert");
  EXPECT_EQ(bert.count(), 700);
  EXPECT_EQ(bert.id("[MASK]"), 4);
  EXPECT_EQ(bert.spelling(4), "[MASK]");
  EXPECT_EQ(bert.id("no such token"), std::nullopt);
  EXPECT_EQ(bert.id("\xFF"), std::nullopt);
  EXPECT_EQ(bert.spelling(700), std::nullopt);
  EXPECT_EQ(bert.spelling(std::int64_t{1} << 32), std::nullopt);
}

TEST(Tokenizer, DecodingSkipsUnknownIds) {
  const Tokenizer gpt2 = Tokenizer::open(kTokenizerData / "gpt2");
  TokenizerIds ids = gpt2.encode("First Citizen", /*special=*/false);
  ids.insert(ids.begin() + 1, {-1, 500, std::int64_t{1} << 40});
  EXPECT_EQ(gpt2.decode(ids, /*skip_special=*/true), "First Citizen");
}

TEST(Tokenizer, FindsSpecialTokensByTheirUsualSpelling) {
  EXPECT_EQ(Tokenizer::open(kTokenizerData / "bert").special_tokens().mask, 4);
  EXPECT_EQ(Tokenizer::open(kTokenizerData / "gpt2").special_tokens().mask, std::nullopt);
  EXPECT_EQ(Tokenizer::open(kTokenizerData / "gpt2").special_tokens().end, 0);
  EXPECT_EQ(Tokenizer::open(kTokenizerData / "llama").special_tokens().end, 2);
  EXPECT_EQ(Tokenizer::open(kTokenizerData / "llama").special_tokens().unknown, 0);
}

TEST(Tokenizer, UsesSpecialTokensNamedInItsFiles) {
  const test::TempFolder folder;
  folder.write("tokenizer.json", content_of(kTokenizerData / "llama3/tokenizer.json"));
  folder.write("tokenizer_config.json",
               R"({"eos_token": {"content": "<|eot_id|>", "lstrip": false}, "pad_token": null})");
  folder.write(
      "special_tokens_map.json",
      R"({"eos_token": "<|end_of_text|>", "mask_token": "Coriolanus", "unk_token": "none"})");
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.special_tokens().end, tokenizer.id("<|eot_id|>"));
  EXPECT_EQ(tokenizer.special_tokens().mask, tokenizer.id("Coriolanus"));
  EXPECT_EQ(tokenizer.special_tokens().unknown, std::nullopt);
}

TEST(Tokenizer, RejectsTextThatIsNotUtf8) {
  const Tokenizer tokenizer = Tokenizer::open(kTokenizerData / "gpt2");
  EXPECT_ERROR_SAYING(ErrorKind::format, tokenizer.encode("caf\xE9 au lait", true),
                      "text: is not UTF-8 at byte 3");
  EXPECT_ERROR_SAYING(ErrorKind::format, tokenizer.encode("ab\xE2\x96", true), "at byte 2");
}

TEST(Tokenizer, IgnoresPaddingTruncationAndDropout) {
  std::string json = content_of(kTokenizerData / "gpt2/tokenizer.json");
  const Tokenizer plain = Tokenizer::of_json(json, "tokenizer.json");
  json = with(
      json, R"("truncation":null)",
      R"("truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0})");
  json = with(
      json, R"("padding":null)",
      R"("padding":{"strategy":{"Fixed":4294967295},"direction":"Right","pad_to_multiple_of":null,)"
      R"("pad_id":0,"pad_type_id":0,"pad_token":"!"})");
  json = with(json, R"("dropout":null)", R"("dropout":0.9)");
  const Tokenizer padded = Tokenizer::of_json(json, "tokenizer.json");
  EXPECT_EQ(padded.encode("the most unkindest cut of all", true),
            plain.encode("the most unkindest cut of all", true));
}

TEST(Tokenizer, ReportsErrorsInTheFile) {
  const std::string audio = content_of(kTokenizerData / "gpt2/tokenizer.json");
  std::string deep = "[";
  for (int level = 0; level < 100'000; ++level) deep += '[';
  const std::string sequences = [] {
    std::string nested = R"({"type":"Lowercase"})";
    for (int level = 0; level < 40; ++level) {
      nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
    }
    return nested;
  }();
  const struct {
    std::string_view fault;
    std::string json;
    std::string_view said;
  } files[] = {
      {"empty", "", "EOF"},
      {"cut", audio.substr(0, audio.size() / 2), "EOF"},
      {"an array", "[]", ""},
      {"a number", "7", ""},
      {"an empty object", "{}", "model"},
      {"trailing text", audio + "x", "trailing"},
      {"not UTF-8", with(audio, "<|endoftext|>", "\xFF\xFE"), ""},
      {"a lone surrogate", with(audio, "<|endoftext|>", R"(\ud800)"), ""},
      {"100,000 arrays deep", deep, "nested deeper than 16"},
      {"normalizers without end",
       with(audio, R"("normalizer":null)", R"("normalizer":)" + sequences),
       "nested deeper than 16"},
      {"an unknown model", with(audio, R"("type":"BPE")", R"("type":"Abacus")"), ""},
      {"a vocabulary that is a number", with(audio, R"("vocab":{)", R"("vocab":7,"x":{)"), ""},
      {"a negative id", with(audio, R"("!":1)", R"("!":-1)"), ""},
      {"an id past 32 bits", with(audio, R"("!":1)", R"("!":4294967296)"), ""},
      {"a merge of unknown tokens", with(audio, R"("merges":[)", R"("merges":[["qqqqq","zzzzz"],)"),
       "qqqqq"},
      {"a merge of three tokens", with(audio, R"("merges":[)", R"("merges":[["a","b","c"],)"), ""},
      {"a regular expression that is none",
       with(audio, R"("pre_tokenizer":{"type":"ByteLevel")",
            R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},)"
            R"("behavior":"Isolated","invert":false},"x":{"y":"")"),
       ""},
  };
  for (const auto& wrong : files) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, Tokenizer::of_json(wrong.json, "model/tokenizer.json"),
                        "model/tokenizer.json: is not a valid tokenizer: ", wrong.said);
  }
}

TEST(Tokenizer, ReportsErrorsInOldFiles) {
  const struct {
    std::string_view fault, name, content, other_name, other_content, said;
  } folders[] = {
      {"no object", "vocab.json", "[]", "merges.txt", "",
       "vocab.json: is not a JSON object of tokens"},
      {"empty", "vocab.json", "{}", "merges.txt", "", "vocab.json: is not a JSON object of tokens"},
      {"cut", "vocab.json", R"({"a": 0,)", "merges.txt", "", "vocab.json: "},
      {"no number", "vocab.json", R"({"a": "0"})", "merges.txt", "", "the id of token 'a'"},
      {"negative", "vocab.json", R"({"a": -1})", "merges.txt", "", "the id of token 'a'"},
      {"huge", "vocab.json", R"({"a": 4294967296})", "merges.txt", "", "the id of token 'a'"},
      {"one part", "vocab.json", R"({"a": 0})", "merges.txt", "#version: 0.2\na\n",
       "merges.txt: line 2"},
      {"three parts", "vocab.json", R"({"a": 0})", "merges.txt", "a a a", "merges.txt: line 1"},
      {"unknown part", "vocab.json", R"({"a": 0})", "merges.txt", "a b\n", "the token 'b'"},
      {"unknown whole", "vocab.json", R"({"a": 0})", "merges.txt", "a a\n", "the token 'aa'"},
      {"not UTF-8", "vocab.json", R"({"a": 0})", "merges.txt", "a \xFF\n", "not UTF-8 at byte 2"},
      {"no words", "vocab.txt", "", "x", "", "vocab.txt: is empty"},
      {"words not UTF-8", "vocab.txt", "a\n\xE9\n", "x", "", "vocab.txt: is not UTF-8 at byte 2"},
      {"wrong flag", "vocab.txt", "a\n", "tokenizer_config.json", R"({"do_lower_case": "yes"})",
       "'do_lower_case' is neither true nor false"},
      {"wrong token", "vocab.txt", "a\n", "tokenizer_config.json", R"({"mask_token": 7})",
       "'mask_token' is neither a string nor"},
      {"no object", "vocab.txt", "a\n", "special_tokens_map.json", "[]",
       "map.json: is not a JSON object"},
  };
  for (const auto& wrong : folders) {
    SCOPED_TRACE(std::string(wrong.name) + ", " + std::string(wrong.fault));
    const test::TempFolder folder;
    folder.write(wrong.name, wrong.content);
    folder.write(wrong.other_name, wrong.other_content);
    EXPECT_ERROR_SAYING(ErrorKind::format, Tokenizer::open(folder.path()), wrong.said);
  }
}

/// Token "a" has rank 0, "b" rank 1.
TEST(Tokenizer, ReportsErrorsInTiktokenFiles) {
  const struct {
    std::string_view file, config, said;
  } folders[] = {
      {"YQ== 0\nYg== 2\n", "{}", "the ranks of its 2 tokens are not 0, 1, 2"},
      {"YQ== 0\nYg== 0\n", "{}", "the ranks of its 2 tokens are not 0, 1, 2"},
      {"YQ== 0\nYQ== 1\n", "{}", "ranks 0 and 1 are the same token"},
  };
  for (const auto& wrong : folders) {
    SCOPED_TRACE(wrong.file);
    const test::TempFolder folder;
    folder.write("tokenizer.model", wrong.file);
    EXPECT_ERROR_SAYING(ErrorKind::format, Tokenizer::open(folder.path()), wrong.said);
  }
}

/// The file does not tell how words are split, so other tokenizers would get wrong tokens.
TEST(Tokenizer, ReadsTiktokenFilesOfLlama3Only) {
  const std::string file = content_of(kTokenizerData / "tiktoken/tokenizer.model");
  const struct {
    std::string_view name, content, said;
  } others[] = {
      {"tokenizer_config.json", R"({"tokenizer_class": "TikTokenTokenizer"})",
       "a tiktoken file of tokenizer class 'TikTokenTokenizer' is not supported"},
      {"config.json", R"({"model_type": "kimi_k2"})",
       "a tiktoken file of model type 'kimi_k2' is not supported"},
  };
  for (const auto& other : others) {
    const test::TempFolder folder;
    folder.write("tokenizer.model", file);
    folder.write(other.name, other.content);
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, Tokenizer::open(folder.path()), other.said);
  }
}

TEST(Tokenizer, ReportsAFolderWithoutATokenizer) {
  const test::TempFolder folder;
  EXPECT_FALSE(Tokenizer::find(folder.path()).has_value());
  EXPECT_ERROR_SAYING(ErrorKind::io, Tokenizer::open(folder.path()), "has no tokenizer: ");
  folder.write("vocab.json", "{}");  // merges.txt is missing
  EXPECT_FALSE(Tokenizer::find(folder.path()).has_value());
}

TEST(Tokenizer, UnknownTextWithoutAnUnknownTokenIsAnError) {
  const test::TempFolder folder;
  folder.write("vocab.txt", "a\nb\n");
  EXPECT_ERROR_SAYING(ErrorKind::format, Tokenizer::open(folder.path()).encode("c", false),
                      "vocab.txt: cannot encode the text: ");
}

TEST(Tokenizer, LowercasesWordPiecesIfConfigured) {
  const test::TempFolder folder;
  folder.write("vocab.txt", "[UNK]\nthe\ncat\n");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("The CAT", false), (TokenizerIds{1, 2}));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("The cat", false), (TokenizerIds{0, 2}));
  const test::TempFolder cased;
  cased.write("vocab.txt", "[UNK]\nthe\nThe\n");
  EXPECT_EQ(Tokenizer::open(cased.path()).encode("The the", false), (TokenizerIds{2, 1}));
}

TEST(Tokenizer, RobertaAddsItsSpecialTokens) {
  const test::TempFolder folder;
  folder.write("vocab.json",
               R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"<mask>":4,"a":5,"Ġ":6,"Ġa":7})");
  folder.write("merges.txt", "#version: 0.2\r\nĠ a\r\n");
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("a a<mask>", true), (TokenizerIds{0, 5, 7, 4, 2}));
  EXPECT_EQ(tokenizer.special_tokens().mask, 4);
  EXPECT_EQ(tokenizer.decode(TokenizerIds{0, 5, 7, 4, 2}, true), "a a");
}

TEST(Tokenizer, IsThreadSafe) {
  const Tokenizer tokenizer = Tokenizer::open(kTokenizerData / "llama");
  const TokenizerIds expected = tokenizer.encode("What, drunk? and speak parrot?", true);
  std::vector<TokenizerIds> found(4);
  std::vector<std::thread> threads;
  for (TokenizerIds& ids : found) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        ids = tokenizer.encode("What, drunk? and speak parrot?", true);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TokenizerIds& ids : found) EXPECT_EQ(ids, expected);
}

}  // namespace
}  // namespace attnscope
