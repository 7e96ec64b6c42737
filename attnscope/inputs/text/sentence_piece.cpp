#include "attnscope/inputs/text/sentence_piece.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/checkpoint/tokenizer_json.h"
#include "attnscope/inputs/text/sentence_piece_model.h"
#include "attnscope/inputs/text/tiktoken.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view kSpaceMark = "\u2581";
constexpr std::size_t kLongestPiece = 256;  // bytes
constexpr std::array kVocabularyFiles = {"tokenizer.model", "spiece.model",
                                         "sentencepiece.bpe.model", "spm.model", "tiktoken.model"};

json ids_of(const SentencePieceModel& model) {
  json ids = json::object();
  for (std::size_t id = 0; id < model.pieces.size(); ++id) ids[model.pieces[id].text] = id;
  return ids;
}

/// All pairs of pieces that form a piece, in the order of the pieces that they form.
json merges_of(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) known[model.pieces[id].text] = id;
  json merges = json::array();
  for (const Piece& piece : model.pieces) {
    const std::string_view whole = piece.text;
    if (whole.size() > kLongestPiece) continue;
    const auto step = [&](std::size_t at) {
      return std::max<std::size_t>(utf8_length(whole.substr(at)), 1);
    };
    for (std::size_t at = whole.empty() ? 0 : step(0); at < whole.size(); at += step(at)) {
      const std::string_view left = whole.substr(0, at), right = whole.substr(at);
      if (known.contains(left) && known.contains(right)) merges.push_back({left, right});
    }
  }
  return merges;
}

json replace(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

json metaspace(const char* prepend, bool split = true) {
  return {{"type", "Metaspace"},
          {"replacement", kSpaceMark},
          {"prepend_scheme", prepend},
          {"split", split}};
}

json in_sequence(const char* list, json steps) { return {{"type", "Sequence"}, {list, steps}}; }

/// What a class of transformers makes of a model. Source: its tokenization_*.py.
struct Conversion {
  json tokenizer;
  std::vector<std::string> special;  // spellings, in the order in which transformers adds them
  std::string first, last;           // tokens around a text; empty: none
  PairForm pair = PairForm::like_two_texts;
};

Conversion as_llama(const SentencePieceModel& model, const TokenizerConfig& config) {
  json pair = pair_model(ids_of(model), merges_of(model));
  pair["fuse_unk"] = pair["byte_fallback"] = true;
  const bool prefix = config.add_prefix_space.value_or(true);
  json decoders = {replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  Conversion out{
      .tokenizer = tokenizer_of(std::move(pair), in_sequence("decoders", decoders)),
      .special = {config.spelling("bos_token", "<s>"), config.spelling("eos_token", "</s>"),
                  config.spelling("unk_token", "<unk>")}};
  const char* scheme = config.legacy.value_or(false) ? "always" : "first";
  out.tokenizer["pre_tokenizer"] = metaspace(prefix ? scheme : "never", /*split=*/false);
  // Files of Meta and Mistral have no config, and their programs begin texts with BOS.
  if (config.add_bos_token.value_or(!config.exists)) out.first = out.special[0];
  if (config.add_eos_token.value_or(false)) out.last = out.special[1];
  return out;
}

Conversion as_gemma(const SentencePieceModel& model, const TokenizerConfig& config) {
  json pair = pair_model(ids_of(model), merges_of(model));
  pair["fuse_unk"] = pair["byte_fallback"] = true;
  const std::string unknown_token = config.spelling("unk_token", "<unk>");
  pair["unk_token"] = unknown_token;
  const json decoders = {replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  Conversion out{
      .tokenizer = tokenizer_of(std::move(pair), in_sequence("decoders", decoders)),
      .special = {config.spelling("bos_token", "<bos>"), config.spelling("eos_token", "<eos>"),
                  unknown_token, config.spelling("pad_token", "<pad>"),
                  config.spelling("mask_token", "<mask>")}};
  out.tokenizer["normalizer"] = replace(" ", kSpaceMark);
  out.tokenizer["pre_tokenizer"] = {{"type", "Split"},
                                    {"pattern", {{"String", " "}}},
                                    {"behavior", "MergedWithPrevious"},
                                    {"invert", false}};
  if (config.add_bos_token.value_or(!config.exists)) out.first = out.special[0];
  if (config.add_eos_token.value_or(false)) out.last = out.special[1];
  return out;
}

json unigram_of(const json& vocabulary, std::size_t unknown_id, bool prefix = true) {
  json out = tokenizer_of({{"type", "Unigram"},
                           {"unk_id", unknown_id},
                           {"byte_fallback", false},
                           {"vocab", vocabulary}},
                          metaspace(prefix ? "always" : "never"));
  out["pre_tokenizer"] = in_sequence(
      "pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace(prefix ? "always" : "never")});
  return out;
}

json scored(const SentencePieceModel& model, std::size_t first = 0) {
  json out = json::array();
  for (std::size_t id = first; id < model.pieces.size(); ++id) {
    out.push_back({model.pieces[id].text, model.pieces[id].score});
  }
  return out;
}

json precompiled(const SentencePieceModel& model) {
  if (model.charsmap.empty()) return nullptr;
  return {{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}};
}

Conversion as_t5(const SentencePieceModel& model, const TokenizerConfig& config) {
  json vocabulary = scored(model);
  Conversion out{
      .special = {config.spelling("eos_token", "</s>"), config.spelling("unk_token", "<unk>"),
                  config.spelling("pad_token", "<pad>")},
      .last = "</s>"};
  const std::int64_t extra = config.extra_ids.value_or(100);
  for (std::int64_t id = extra - 1; id >= 0; --id) {
    const std::string token = "<extra_id_" + std::to_string(id) + ">";
    vocabulary.push_back({token, 0.0});
    out.special.push_back(token);
  }
  out.tokenizer = unigram_of(vocabulary, 2);
  out.tokenizer["normalizer"] = precompiled(model);
  return out;
}

/// fairseq numbers four tokens before the pieces, of which the model has three, and adds a mask.
Conversion as_xlm_roberta(const SentencePieceModel& model, const TokenizerConfig& config) {
  const std::vector<std::string> around = {
      config.spelling("bos_token", "<s>"), config.spelling("pad_token", "<pad>"),
      config.spelling("eos_token", "</s>"), config.spelling("unk_token", "<unk>")};
  const std::string mask = config.spelling("mask_token", "<mask>");
  json vocabulary = json::array();
  for (const std::string& token : around) vocabulary.push_back({token, 0.0});
  for (const json& piece : scored(model, 3)) vocabulary.push_back(piece);
  vocabulary.push_back({mask, 0.0});
  Conversion out{.tokenizer = unigram_of(vocabulary, 3, config.add_prefix_space.value_or(true)),
                 .special = around,
                 .first = around[0],
                 .last = around[2],
                 .pair = PairForm::two_ends};
  out.special.push_back(mask);
  out.tokenizer["normalizer"] = precompiled(model);
  return out;
}

Conversion as_albert(const SentencePieceModel& model, const TokenizerConfig& config) {
  Conversion out{
      .tokenizer = unigram_of(scored(model), 1, config.add_prefix_space.value_or(true)),
      .special = {config.spelling("cls_token", "[CLS]"), config.spelling("sep_token", "[SEP]"),
                  config.spelling("pad_token", "<pad>"), config.spelling("unk_token", "<unk>"),
                  config.spelling("mask_token", "[MASK]")},
      .first = "[CLS]",
      .last = "[SEP]",
      .pair = PairForm::one_end};
  json steps = {replace("``", "\""), replace("''", "\"")};
  if (!config.keep_accents.value_or(false)) {
    steps.push_back({{"type", "NFKD"}});
    steps.push_back({{"type", "StripAccents"}});
  }
  if (config.do_lower_case.value_or(true)) steps.push_back({{"type", "Lowercase"}});
  if (!model.charsmap.empty()) steps.push_back(precompiled(model));
  out.tokenizer["normalizer"] = in_sequence("normalizers", steps);
  return out;
}

Conversion as_deberta_v2(const SentencePieceModel& model, const TokenizerConfig& config) {
  const std::string other = config.spelling("unk_token", "[UNK]");
  std::size_t unknown_id = 1;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].text == other && model.pieces[id].score == 0) unknown_id = id;
  }
  Conversion out{
      .tokenizer = unigram_of(scored(model), unknown_id),
      .special = {config.spelling("cls_token", "[CLS]"), config.spelling("sep_token", "[SEP]"),
                  config.spelling("pad_token", "[PAD]"), other,
                  config.spelling("mask_token", "[MASK]")}};
  out.first = out.special[0];
  out.last = out.special[1];
  out.pair = PairForm::one_end;
  json steps = json::array();
  if (config.do_lower_case.value_or(false)) steps.push_back({{"type", "Lowercase"}});
  steps.push_back(
      {{"type", "Replace"}, {"pattern", {{"Regex", "\\s{2,}|[\\n\\r\\t]"}}}, {"content", " "}});
  steps.push_back({{"type", "NFC"}});
  steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  out.tokenizer["normalizer"] = in_sequence("normalizers", steps);
  const char* scheme = config.add_prefix_space.value_or(true) ? "always" : "first";
  json cuts = json::array();
  if (config.split_by_punct.value_or(false)) {
    cuts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  }
  cuts.push_back(metaspace(scheme));
  out.tokenizer["pre_tokenizer"] = in_sequence("pretokenizers", cuts);
  out.tokenizer["decoder"] = metaspace(scheme);
  return out;
}

struct TokenizerClass {
  std::string_view name;    // without "Tokenizer", or a model_type
  std::int64_t model_type;  // what the class expects
  Conversion (*convert)(const SentencePieceModel& model, const TokenizerConfig& config);
};
constexpr std::array kClasses = {
    TokenizerClass{"Llama", pairs, as_llama},
    TokenizerClass{"Gemma", pairs, as_gemma},
    TokenizerClass{"T5", unigram, as_t5},
    TokenizerClass{"XLMRoberta", unigram, as_xlm_roberta},
    TokenizerClass{"Albert", unigram, as_albert},
    TokenizerClass{"DebertaV2", unigram, as_deberta_v2},
};
/// The class of a model_type, if tokenizer_config.json names none. Other models with pairs are like
/// Llama.
constexpr std::array kClassOfModel = {std::pair{"gemma", "Gemma"},
                                      std::pair{"t5", "T5"},
                                      std::pair{"mt5", "T5"},
                                      std::pair{"umt5", "T5"},
                                      std::pair{"xlm-roberta", "XLMRoberta"},
                                      std::pair{"albert", "Albert"},
                                      std::pair{"deberta-v2", "DebertaV2"}};

[[noreturn]] void refuse_class(const std::string& place, const std::string& file,
                               const std::string& of) {
  throw Error(ErrorKind::unsupported,
              {.file = place,
               .problem = verbatim(file + " of " + of + " is not supported"),
               .hint = "convert it with AutoTokenizer.from_pretrained(…).save_pretrained(…), which "
                       "writes a tokenizer.json"});
}

std::string model_type_of(const CheckpointFolder& folder) {
  constexpr std::uint64_t kMaxConfigBytes = 10'000'000;
  if (!folder.has("config.json")) return "";
  const json config = parse_python_json(folder.read_text("config.json", kMaxConfigBytes),
                                        folder.place_of("config.json"));
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  return config.is_object() && type != config.end() && type->is_string() ? type->get<std::string>()
                                                                         : "";
}

const TokenizerClass& class_of(const CheckpointFolder& folder, const SentencePieceModel& model,
                               const TokenizerConfig& config, const std::string& place) {
  std::string name = config.tokenizer_class.value_or("");
  for (const std::string_view ending : {"Fast", "Tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  const std::string type = name.empty() ? model_type_of(folder) : "";
  for (const auto& [start, of_model] : kClassOfModel) {
    const bool gemma = std::string_view(start) == "gemma" && type.starts_with(start);
    if (type == start || gemma) name = of_model;
  }
  if (name.empty() && model.model_type == pairs) name = "Llama";
  for (const TokenizerClass& known : kClasses) {
    if (known.name == name && known.model_type == model.model_type) return known;
  }
  const std::string kind = model.model_type == pairs ? "BPE" : "unigram";
  refuse_class(place, "a SentencePiece " + kind + " model",
               name.empty() ? "an unnamed tokenizer class" : "tokenizer class '" + name + "'");
}

/// Tiktoken files do not contain the pattern that splits words. Llama 3's is used for the files of
/// Meta, which have no config, and for those that transformers converted.
void check_is_of_llama3(const CheckpointFolder& folder, const TokenizerConfig& config,
                        const std::string& place) {
  constexpr std::array<std::string_view, 3> kClassesOfAnyModel = {
      "PreTrainedTokenizerFast", "PreTrainedTokenizer", "TokenizersBackend"};
  const std::string name = config.tokenizer_class.value_or("");
  const std::string type = model_type_of(folder);
  const bool known_class = name.empty() || std::ranges::count(kClassesOfAnyModel, name) > 0;
  const bool known_model = type.empty() || type.starts_with("llama") || type.starts_with("mllama");
  if (!known_class) refuse_class(place, "a tiktoken file", "tokenizer class '" + name + "'");
  if (!known_model) refuse_class(place, "a tiktoken file", "model type '" + type + "'");
}

/// Tokens that are matched before anything else, by id. Those that the model lacks get the ids
/// after its own: first what tokenizer_config.json lists, then special tokens. Adds them to `ids`.
json added(const SentencePieceModel& model, const std::vector<std::string>& special,
           const TokenizerConfig& config, json& ids) {
  std::vector<std::pair<std::string, bool>> tokens;  // and whether decoding may skip it
  for (const auto& [id, token] : config.added_tokens) {
    ids.emplace(token, ids.size());
    tokens.emplace_back(token, true);
  }
  for (const std::string& token : special) tokens.emplace_back(token, true);
  for (const auto& [key, token] : config.special) tokens.emplace_back(token, true);
  for (const Piece& piece : model.pieces) {
    if (piece.type == control || piece.type == user_defined) {
      tokens.emplace_back(piece.text, piece.type == control);
    }
  }
  std::map<std::int64_t, std::pair<std::string, bool>> sorted;
  for (const auto& [token, is_special] : tokens) {
    const json id = *ids.emplace(token, ids.size()).first;
    sorted.emplace(id.get<std::int64_t>(), std::pair{token, is_special});
  }
  json out = json::array();
  for (const auto& [id, token] : sorted) out.push_back(added_token(id, token.first, token.second));
  return out;
}

}  // namespace

std::optional<std::string> find_vocabulary_file(const CheckpointFolder& folder) {
  for (const char* name : kVocabularyFiles) {
    if (folder.has(name)) return name;
  }
  return std::nullopt;
}

std::string vocabulary_file_json(const CheckpointFolder& folder, const std::string& name,
                                 const TokenizerConfig& config) {
  const std::string place = folder.place_of(name);
  const std::string file = folder.read_text(name, kTokenizerLimitBytes);
  if (is_tiktoken(file)) {
    check_is_of_llama3(folder, config, place);
    return tiktoken_json(file, place, config);
  }
  const SentencePieceModel model =
      read_sentence_piece_model(std::as_bytes(std::span(file)), {place});
  Conversion found = class_of(folder, model, config, place).convert(model, config);
  json ids = json::object();
  const json& vocabulary = found.tokenizer["model"]["vocab"];
  if (vocabulary.is_array()) {
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      ids.emplace(vocabulary[id][0].get<std::string>(), id);
    }
  } else {
    ids = vocabulary;
  }
  found.tokenizer["added_tokens"] = added(model, found.special, config, ids);
  found.tokenizer["post_processor"] = template_of(ids, found.first, found.last, found.pair);
  return found.tokenizer.dump();
}

}  // namespace attnscope
