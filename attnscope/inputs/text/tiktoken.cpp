#include "attnscope/inputs/text/tiktoken.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/checkpoint/gguf/pre_tokenizers.h"
#include "attnscope/checkpoint/tokenizer_json.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTokens = 4'000'000, kLongestToken = 256;  // bytes
constexpr std::int64_t kLlama3Tokens = 128'000, kLlama3Special = 256;

struct RankedToken {
  std::string bytes;
  std::int64_t rank = 0;
};

/// Returns nothing if the line is not a token and its rank.
std::optional<RankedToken> ranked_token(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const auto bytes = from_base64(line.substr(0, space));
  RankedToken token;
  const std::string_view number = line.substr(space + 1);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), token.rank);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == number.data() + number.size();
  if (!bytes || bytes->empty() || !whole || token.rank < 0) return std::nullopt;
  token.bytes = *bytes;
  return token;
}

std::string_view line_at(std::string_view text, std::size_t at) {
  return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
}

/// GPT-2's letter for each byte: printable ones stand for themselves, the others follow from
/// U+0100.
std::string byte_letters(std::string_view bytes) {
  static const std::vector<std::string> letters = [] {
    std::vector<std::string> out(256);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                             (byte >= 0xae && byte <= 0xff);
      const int code = printable ? byte : next++;
      std::string& letter = out[static_cast<std::size_t>(byte)];
      if (code < 0x80) {
        letter = static_cast<char>(code);
      } else {
        letter = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
      }
    }
    return out;
  }();
  std::string out;
  for (const char byte : bytes) out += letters[static_cast<unsigned char>(byte)];
  return out;
}

/// The tokens in the order of their ranks, which are their ids.
std::vector<RankedToken> read_tokens(std::string_view text, const std::string& file) {
  std::vector<RankedToken> tokens;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = line_at(text, at);
    at += line.size() + 1;
    ++number;
    if (line.empty()) continue;
    auto token = ranked_token(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (!token || tokens.size() == kMaxTokens) {
      throw Error(ErrorKind::format, {.file = file,
                                      .problem = "line " + std::to_string(number) +
                                                 " is not a token in base64 and its rank"});
    }
    tokens.push_back(*std::move(token));
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const RankedToken& a, const RankedToken& b) { return a.rank < b.rank; });
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    if (tokens[rank].rank == static_cast<std::int64_t>(rank)) continue;
    throw Error(ErrorKind::format,
                {.file = file,
                 .problem = "the ranks of its " + counted(std::ssize(tokens), "token") +
                            " are not 0, 1, 2, …"});
  }
  return tokens;
}

/// Returns every pair of tokens that forms a token, in the order of the ranks.
json merges_by_rank(const std::vector<RankedToken>& tokens,
                    const std::map<std::string_view, std::int64_t>& ranks) {
  json merges = json::array();
  for (const RankedToken& token : tokens) {
    const std::string_view whole = token.bytes;
    if (whole.size() > kLongestToken) continue;
    std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::size_t>> own;
    for (std::size_t at = 1; at < whole.size(); ++at) {
      const auto left = ranks.find(whole.substr(0, at)), right = ranks.find(whole.substr(at));
      if (left == ranks.end() || right == ranks.end()) continue;
      own.push_back({{left->second, right->second}, at});
    }
    std::stable_sort(own.begin(), own.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, at] : own) {
      merges.push_back({byte_letters(whole.substr(0, at)), byte_letters(whole.substr(at))});
    }
  }
  return merges;
}

/// Source: meta-llama/llama-models, models/llama3/tokenizer.py.
std::vector<std::string> llama3_special_tokens() {
  std::vector<std::string> out = {"<|begin_of_text|>",
                                  "<|end_of_text|>",
                                  "<|reserved_special_token_0|>",
                                  "<|reserved_special_token_1|>",
                                  "<|finetune_right_pad_id|>",
                                  "<|step_id|>",
                                  "<|start_header_id|>",
                                  "<|end_header_id|>",
                                  "<|eom_id|>",
                                  "<|eot_id|>",
                                  "<|python_tag|>"};
  for (std::size_t number = 2; std::ssize(out) < kLlama3Special; ++number) {
    out.push_back("<|reserved_special_token_" + std::to_string(number) + "|>");
  }
  return out;
}

/// The tokens after the others, by id. Ids without a name get one, as in transformers.
std::vector<std::string> special_tokens(std::int64_t count, const TokenizerConfig& config) {
  if (config.added_tokens.empty() && count == kLlama3Tokens) return llama3_special_tokens();
  std::vector<std::string> out;
  const std::int64_t last = config.added_tokens.empty() ? -1 : config.added_tokens.rbegin()->first;
  for (std::int64_t id = count; id <= last; ++id) {
    const auto named = config.added_tokens.find(id);
    out.push_back(named != config.added_tokens.end()
                      ? named->second
                      : "<|reserved_token_" + std::to_string(id) + "|>");
  }
  return out;
}

}  // namespace

bool is_tiktoken(std::string_view text) {
  std::string_view line = line_at(text, 0);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return ranked_token(line).has_value();
}

std::string tiktoken_json(std::string_view text, const std::string& file,
                          const TokenizerConfig& config) {
  const std::vector<RankedToken> tokens = read_tokens(text, file);
  std::map<std::string_view, std::int64_t> ranks;
  json ids = json::object();
  for (const RankedToken& token : tokens) {
    if (!ranks.emplace(token.bytes, token.rank).second) {
      throw Error(ErrorKind::format,
                  {.file = file,
                   .problem = "ranks " + std::to_string(ranks.at(token.bytes)) + " and " +
                              std::to_string(token.rank) + " are the same token"});
    }
    ids[byte_letters(token.bytes)] = token.rank;
  }
  json model = pair_model(ids, merges_by_rank(tokens, ranks));
  model["ignore_merges"] = true;
  json out = tokenizer_of(std::move(model), byte_level(true));
  out["pre_tokenizer"] = {{"type", "Sequence"},
                          {"pretokenizers",
                           {{{"type", "Split"},
                             {"pattern", {{"Regex", find_pre_tokenizer("llama3")->pattern}}},
                             {"behavior", "Isolated"},
                             {"invert", false}},
                            byte_level(false, /*cuts=*/false)}}};
  std::int64_t id = std::ssize(tokens);
  for (const std::string& spelling : special_tokens(id, config)) {
    out["added_tokens"].push_back(added_token(id, spelling, /*special=*/true));
    ids[spelling] = id++;
  }
  const bool begins = config.add_bos_token.value_or(!config.exists);
  out["post_processor"] = template_of(
      ids, begins ? config.spelling("bos_token", "<|begin_of_text|>") : "",
      config.add_eos_token.value_or(false) ? config.spelling("eos_token", "<|end_of_text|>") : "",
      PairForm::like_two_texts);
  return out.dump();
}

}  // namespace attnscope
