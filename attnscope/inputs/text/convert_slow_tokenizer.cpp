#include "attnscope/inputs/text/convert_slow_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/tokenizer_json.h"

namespace attnscope {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_vocabulary(const std::string& file, std::string problem) {
  throw Error(ErrorKind::format, {.file = file, .problem = std::move(problem)});
}

/// Splits a text into lines without line breaks, which may be "\r\n". The last line break is not
/// followed by another line.
std::vector<std::string> lines_of(const CheckpointFolder& folder, const char* name) {
  const std::string text = folder.read_text(name, kTokenizerLimitBytes);
  if (const auto broken = first_broken_utf8(text)) {
    refuse_vocabulary(folder.place_of(name), "is not UTF-8 at byte " + std::to_string(*broken));
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const bool carriage = end > at && text[end - 1] == '\r';
    lines.push_back(text.substr(at, end - at - (carriage ? 1 : 0)));
    at = end + 1;
  }
  return lines;
}

/// The special tokens in the vocabulary, in the form of `added_tokens`.
json added_tokens(const json& vocabulary, const std::vector<std::string>& spellings) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const std::string& spelling : spellings) {
    if (vocabulary.contains(spelling)) sorted.emplace_back(vocabulary[spelling], spelling);
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  json list = json::array();
  for (const auto& [id, spelling] : sorted) {
    list.push_back(added_token(id, spelling, /*special=*/true));
  }
  return list;
}

/// Reads spelling → id from a JSON object.
json read_vocabulary(const CheckpointFolder& folder, const char* name) {
  const std::string file = folder.place_of(name);
  json vocabulary = parse_python_json(folder.read_text(name, kTokenizerLimitBytes), file);
  if (!vocabulary.is_object() || vocabulary.empty()) {
    refuse_vocabulary(file, "is not a JSON object of tokens and their ids");
  }
  for (const auto& [spelling, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX) {
      refuse_vocabulary(
          file, "the id of token '" + verbatim(spelling) + "' is not a number from 0 to 2^32 - 1");
    }
  }
  return vocabulary;
}

/// Reads pairs of tokens, in merge order. The first line may contain a version.
json read_merges(const CheckpointFolder& folder, const char* name, const json& vocabulary) {
  const std::string file = folder.place_of(name);
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string& line : lines_of(folder, name)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      refuse_vocabulary(
          file, "line " + std::to_string(number) + " is not two tokens separated by a space");
    }
    const std::string left = line.substr(0, space), right = line.substr(space + 1);
    for (const std::string& token : {left, right, left + right}) {
      if (vocabulary.contains(token)) continue;
      refuse_vocabulary(file, "line " + std::to_string(number) + " requires the token '" +
                                  verbatim(token) + "', which is missing in vocab.json");
    }
    merges.push_back({left, right});
  }
  return merges;
}

}  // namespace

std::string byte_level_json(const CheckpointFolder& folder, const TokenizerConfig& config) {
  const json vocabulary = read_vocabulary(folder, "vocab.json");
  const json merges = read_merges(folder, "merges.txt", vocabulary);
  const auto of_class = config.tokenizer_class;
  const bool roberta = of_class ? of_class->starts_with("Roberta") : vocabulary.contains("<mask>");
  const bool add_prefix_space = config.add_prefix_space.value_or(false);

  std::vector<std::string> special =
      roberta ? std::vector<std::string>{"<s>", "<pad>", "</s>", "<unk>", "<mask>"}
              : std::vector<std::string>{"<|endoftext|>"};
  for (const auto& [key, spelling] : config.special) special.push_back(spelling);

  std::string first, last;
  if (roberta) {
    first = config.spelling("cls_token", "<s>");
    last = config.spelling("sep_token", "</s>");
  } else {
    if (config.add_bos_token.value_or(false)) {
      first = config.spelling("bos_token", "<|endoftext|>");
    }
    if (config.add_eos_token.value_or(false)) {
      last = config.spelling("eos_token", "<|endoftext|>");
    }
  }
  json tokenizer = tokenizer_of(pair_model(vocabulary, merges), byte_level(true));
  tokenizer["added_tokens"] = added_tokens(vocabulary, special);
  tokenizer["pre_tokenizer"] = byte_level(add_prefix_space);
  tokenizer["post_processor"] =
      template_of(vocabulary, first, last, roberta ? PairForm::two_ends : PairForm::like_two_texts);
  return tokenizer.dump();
}

std::string word_piece_json(const CheckpointFolder& folder, const TokenizerConfig& config) {
  constexpr const char* kName = "vocab.txt";
  json vocabulary = json::object();
  bool capitals = false;
  std::int64_t line_id = 0;
  for (const std::string& token : lines_of(folder, kName)) {
    vocabulary[token] = line_id++;
    capitals =
        capitals || (!token.starts_with('[') && std::any_of(token.begin(), token.end(), [](char c) {
          return c >= 'A' && c <= 'Z';
        }));
  }
  if (vocabulary.empty()) refuse_vocabulary(folder.place_of(kName), "is empty");

  const std::string unknown = config.spelling("unk_token", "[UNK]");
  const std::string first = config.spelling("cls_token", "[CLS]");
  const std::string last = config.spelling("sep_token", "[SEP]");
  std::vector<std::string> special = {unknown, first, last, config.spelling("pad_token", "[PAD]"),
                                      config.spelling("mask_token", "[MASK]")};
  for (const auto& [key, spelling] : config.special) special.push_back(spelling);

  const auto strip_accents = config.strip_accents;
  json tokenizer = tokenizer_of({{"type", "WordPiece"},
                                 {"unk_token", unknown},
                                 {"continuing_subword_prefix", "##"},
                                 {"max_input_chars_per_word", 100},
                                 {"vocab", vocabulary}},
                                {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}});
  tokenizer["added_tokens"] = added_tokens(vocabulary, special);
  tokenizer["normalizer"] = {{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", config.tokenize_chinese_chars.value_or(true)},
                             {"strip_accents", strip_accents ? json(*strip_accents) : json()},
                             {"lowercase", config.do_lower_case.value_or(!capitals)}};
  tokenizer["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  tokenizer["post_processor"] = template_of(vocabulary, first, last, PairForm::one_end);
  return tokenizer.dump();
}

}  // namespace attnscope
