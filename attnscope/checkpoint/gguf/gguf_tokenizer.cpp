#include "attnscope/checkpoint/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/checkpoint/gguf/pre_tokenizers.h"
#include "attnscope/checkpoint/tokenizer_json.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxVocabulary = 4'000'000;
constexpr std::string_view kSpace = "\u2581";  // SentencePiece's spelling of a space

/// tokenizer.ggml.token_type.
enum TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

std::string tokenizer_key(std::string_view key) { return "tokenizer.ggml." + std::string(key); }

/// Components that every type of tokenizer has.
struct Vocabulary {
  std::vector<std::string_view> tokens;  // by id
  std::vector<std::int64_t> types;       // by id; empty: no token is special

  bool is(std::size_t id, TokenType type) const { return id < types.size() && types[id] == type; }

  /// Returns the spelling of the token that a key specifies; empty if it specifies none.
  std::string named(const GgufFile& file, std::string_view key) const {
    const auto id = file.whole(tokenizer_key(key));  // 2^32 - 1 means none
    const bool known = id && static_cast<std::size_t>(*id) < tokens.size();
    return known ? std::string(tokens[static_cast<std::size_t>(*id)]) : "";
  }

  json ids() const {
    json out = json::object();
    for (std::size_t id = 0; id < tokens.size(); ++id) out.emplace(std::string(tokens[id]), id);
    return out;
  }

  json added() const {
    json out = json::array();
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      const bool special = is(id, control) || is(id, unknown);
      if (!special && !is(id, user_defined)) continue;
      out.push_back(added_token(static_cast<std::int64_t>(id), std::string(tokens[id]), special));
    }
    return out;
  }
};

/// Adds the first and last token to texts, if the file says so or if it is the default.
json ends_of(const GgufFile& file, const Vocabulary& vocabulary, const json& ids, bool begins,
             bool ends = false) {
  const bool first = file.flag(tokenizer_key("add_bos_token")).value_or(begins);
  const bool last = file.flag(tokenizer_key("add_eos_token")).value_or(ends);
  const auto either = [&](bool wanted, const char* key, const char* of_encoders) {
    if (!wanted) return std::string();
    const std::string named = vocabulary.named(file, key);
    return named.empty() && ends ? vocabulary.named(file, of_encoders) : named;
  };
  const std::string begin = either(first, "bos_token_id", "cls_token_id");
  // Of the tokenizers with ends, those of encoders (XLM-RoBERTa) also have a beginning, T5's do
  // not.
  const bool encoder = ends && !begin.empty();
  return template_of(ids, begin, either(last, "eos_token_id", "seperator_token_id"),
                     encoder ? PairForm::two_ends : PairForm::like_two_texts);
}

/// SentencePiece BPE, as transformers writes it for Llama and Gemma: pairs are merged by their
/// scores, and unknown characters are spelled as bytes.
json sentence_piece(const GgufFile& file, const Vocabulary& vocabulary) {
  const auto scores = file.numbers(tokenizer_key("scores")).value_or(std::vector<float>());
  std::vector<ScoredToken> scored;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const bool plain = vocabulary.types.empty() || vocabulary.is(id, normal);
    const float score = id < scores.size() && !std::isnan(scores[id]) ? scores[id] : 0;
    scored.push_back({.spelling = vocabulary.tokens[id], .score = score, .joined = plain});
  }
  json merges = json::array();
  for (const auto& [left, right] : merges_by_score(scored)) merges.push_back({left, right});

  json model = pair_model(vocabulary.ids(), std::move(merges));
  model["byte_fallback"] = model["fuse_unk"] = true;
  std::string other = vocabulary.named(file, "unknown_token_id");
  if (other.empty()) other = "<unk>";
  if (model["vocab"].contains(other)) model["unk_token"] = other;

  const json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
  const json unspaced = {{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}};
  json decoders = {unspaced, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  json normalizers = json::array();
  if (file.flag(tokenizer_key("add_space_prefix")).value_or(true)) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(spaces);
  json out = tokenizer_of(std::move(model), {{"type", "Sequence"}, {"decoders", decoders}});
  out["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  out["post_processor"] = ends_of(file, vocabulary, out["model"]["vocab"], /*begins=*/true);
  return out;
}

/// SentencePiece Unigram, as transformers writes it for T5 and XLM-RoBERTa: the most likely
/// segmentation.
json most_likely_pieces(const GgufFile& file, const Vocabulary& vocabulary) {
  const auto scores = file.numbers(tokenizer_key("scores")).value_or(std::vector<float>());
  if (scores.size() != vocabulary.tokens.size()) {
    file.refuse("its tokenizer has " + counted(std::ssize(vocabulary.tokens), "token") + " and " +
                counted(std::ssize(scores), "score"));
  }
  json pieces = json::array();
  json other = nullptr;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    const double score = std::isfinite(scores[id]) ? scores[id] : 0;
    pieces.push_back({std::string(vocabulary.tokens[id]), score});
    if (other.is_null() && vocabulary.is(id, unknown)) other = id;
  }
  if (other.is_null()) file.refuse("its tokenizer has no token for unknown text");

  json out = tokenizer_of({{"type", "Unigram"}, {"unk_id", other}, {"vocab", pieces}}, nullptr);
  if (const auto charsmap = file.wholes(tokenizer_key("precompiled_charsmap"))) {
    std::string bytes;
    for (const std::int64_t byte : *charsmap) bytes += static_cast<char>(byte);
    out["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", base64(bytes)}};
  }
  const bool prefix = file.flag(tokenizer_key("add_space_prefix")).value_or(true);
  const json spaces = {{"type", "Metaspace"},
                       {"replacement", kSpace},
                       {"prepend_scheme", prefix ? "always" : "never"},
                       {"split", true}};
  out["decoder"] = spaces;
  out["pre_tokenizer"] = {{"type", "Sequence"},
                          {"pretokenizers", {{{"type", "WhitespaceSplit"}}, spaces}}};
  const bool encoder = file.text("general.architecture").value_or("") == "bert";
  out["post_processor"] = ends_of(file, vocabulary, vocabulary.ids(), encoder, /*ends=*/true);
  return out;
}

json pre_tokenizer_of(const PreTokenizer& known) {
  if (!known.steps.empty()) {
    return {{"type", "Sequence"}, {"pretokenizers", json::parse(known.steps)}};
  }
  if (known.pattern.empty() && !known.single_digits) return byte_level(false);
  json steps = json::array();
  if (known.single_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (!known.pattern.empty()) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", known.pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back(byte_level(false, /*cuts=*/known.pattern.empty()));
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

/// Byte-level BPE with explicit merges.
json byte_pairs(const GgufFile& file, const Vocabulary& vocabulary) {
  const PreTokenizer* known =
      find_pre_tokenizer(file.text(tokenizer_key("pre")).value_or("default"));
  if (known == nullptr) known = find_pre_tokenizer("default");
  const json ids = vocabulary.ids();
  json merges = json::array();
  for (const std::string_view merge :
       file.texts(tokenizer_key("merges")).value_or(std::vector<std::string_view>())) {
    const std::size_t space = merge.find(' ', 1);  // the first letter may be a space
    if (space == std::string_view::npos) {
      file.refuse("the merge '" + verbatim(printable(merge)) +
                  "' is not two tokens separated by a space");
    }
    const std::string left(merge.substr(0, space)), right(merge.substr(space + 1));
    if (!ids.contains(left) || !ids.contains(right) || !ids.contains(left + right)) {
      file.refuse("the merge '" + verbatim(printable(merge)) +
                  "' requires a token that is missing");
    }
    merges.push_back({left, right});
  }
  json model = pair_model(ids, std::move(merges));
  model["ignore_merges"] = known->whole_words;
  json out = tokenizer_of(std::move(model), byte_level(true));
  if (known->normalizes) out["normalizer"] = {{"type", "NFC"}};
  out["pre_tokenizer"] = pre_tokenizer_of(*known);
  out["post_processor"] = ends_of(file, vocabulary, ids, known->begins, known->ends);
  return out;
}

/// BERT's WordPiece. The converter removed "##" from word-internal tokens and put a space before
/// the others.
json word_pieces(const GgufFile& file, const Vocabulary& vocabulary) {
  Vocabulary own{.types = vocabulary.types};
  std::vector<std::string> spellings;
  bool capitals = false;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string spelling(vocabulary.tokens[id]);
    // In files without token types, only brackets mark special tokens.
    const bool bracketed = spelling.starts_with('[') && spelling.ends_with(']');
    const bool special = vocabulary.types.empty() ? bracketed : vocabulary.is(id, control);
    if (spelling.starts_with(kSpace)) {
      spelling = spelling.substr(kSpace.size());
    } else if (!special) {
      spelling = "##" + spelling;
    }
    capitals = capitals || (!spelling.starts_with('[') &&
                            std::any_of(spelling.begin(), spelling.end(),
                                        [](char c) { return c >= 'A' && c <= 'Z'; }));
    spellings.push_back(std::move(spelling));
  }
  own.tokens.assign(spellings.begin(), spellings.end());

  const auto or_usual = [&](std::string_view key, const char* usual) {
    const std::string named = own.named(file, key);
    return named.empty() ? std::string(usual) : named;
  };
  const json ids = own.ids();
  json out = tokenizer_of({{"type", "WordPiece"},
                           {"unk_token", or_usual("unknown_token_id", "[UNK]")},
                           {"continuing_subword_prefix", "##"},
                           {"max_input_chars_per_word", 100},
                           {"vocab", ids}},
                          {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}});
  out["added_tokens"] = own.added();
  // The file does not specify whether the tokenizer is cased: a vocabulary without capital letters
  // cannot be.
  out["normalizer"] = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", true},
                       {"strip_accents", nullptr},
                       {"lowercase", !capitals}};
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  const std::string first = own.named(file, "cls_token_id");
  out["post_processor"] =
      template_of(ids, first.empty() ? or_usual("bos_token_id", "[CLS]") : first,
                  or_usual("seperator_token_id", "[SEP]"), PairForm::one_end);
  return out;
}

std::string tokenizer_text(const GgufFile& file) {
  const auto kind = file.text(tokenizer_key("model")).value();
  const auto tokens = file.texts(tokenizer_key("tokens")).value();
  const Vocabulary vocabulary{
      .tokens = tokens,
      .types = file.wholes(tokenizer_key("token_type")).value_or(std::vector<std::int64_t>())};
  json out;
  if (kind == "llama") out = sentence_piece(file, vocabulary);
  if (kind == "gpt2") out = byte_pairs(file, vocabulary);
  if (kind == "bert") out = word_pieces(file, vocabulary);
  if (kind == "t5") out = most_likely_pieces(file, vocabulary);
  if (out["added_tokens"].empty()) out["added_tokens"] = vocabulary.added();
  // A spelling that is not UTF-8 cannot represent text.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::function<std::string()> gguf_tokenizer(std::shared_ptr<const GgufFile> file,
                                            std::vector<std::string>& notes) {
  const auto kind = file->text(tokenizer_key("model"));
  if (!kind) return nullptr;
  if (*kind != "llama" && *kind != "gpt2" && *kind != "bert" && *kind != "t5") {
    notes.push_back("its tokenizer '" + printable(*kind) +
                    "' is not supported: pass token ids instead");
    return nullptr;
  }
  const auto tokens = file->texts(tokenizer_key("tokens"));
  if (!tokens || tokens->empty() || tokens->size() > kMaxVocabulary) {
    notes.push_back("its tokenizer has no tokens, or too many: pass token ids instead");
    return nullptr;
  }
  const auto pre = file->text(tokenizer_key("pre")).value_or("default");
  if (*kind == "gpt2" && find_pre_tokenizer(pre) == nullptr) {
    notes.push_back("texts are split into words like in GPT-2, because the rule '" +
                    printable(pre) + "' is unknown");
  }
  return [file] { return tokenizer_text(*file); };
}

namespace {

constexpr std::size_t kLongestToken = 256;

struct Merge {
  std::string_view left, right;
  float score;
  std::size_t left_length, right_length;  // code points
};

/// Returns the length in bytes of the code point at `at`; 1 if it is invalid.
std::size_t step(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(utf8_length(text.substr(at)), 1);
}

std::size_t length_of(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) ++count;
  return count;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> merges_by_score(
    const std::vector<ScoredToken>& tokens) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id].spelling, id);

  std::vector<Merge> merges;
  for (const ScoredToken& token : tokens) {
    const std::string_view whole = token.spelling;
    if (!token.joined || whole.size() > kLongestToken) continue;
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, Merge>> own;
    const std::size_t length = length_of(whole);
    std::size_t left_length = 0;
    for (std::size_t at = step(whole, 0); at < whole.size(); at += step(whole, at)) {
      ++left_length;
      const auto left = ids.find(whole.substr(0, at)), right = ids.find(whole.substr(at));
      if (left == ids.end() || right == ids.end()) continue;
      own.push_back({{left->second, right->second},
                     {left->first, right->first, token.score, left_length, length - left_length}});
    }
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, merge] : own) merges.push_back(merge);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_length, a.right_length) >
           std::tie(b.score, b.left_length, b.right_length);
  });
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const Merge& merge : merges) out.emplace_back(merge.left, merge.right);
  return out;
}

}  // namespace attnscope
