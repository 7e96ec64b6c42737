#include "attnscope/inputs/text/tokenizer_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/inputs/text/convert_slow_tokenizer.h"
#include "attnscope/inputs/text/sentence_piece.h"

namespace attnscope {

std::optional<TokenizerFiles> find_tokenizer_files(const CheckpointFolder& folder) {
  const bool whole = folder.has("tokenizer.json");
  const bool byte_level = folder.has("vocab.json") && folder.has("merges.txt");
  const std::optional<std::string> vocabulary = find_vocabulary_file(folder);
  if (!whole && !byte_level && !vocabulary && !folder.has("vocab.txt")) return std::nullopt;

  const TokenizerConfig config = read_tokenizer_config(folder, vocabulary && !whole && !byte_level);
  TokenizerFiles out{.special = config.special, .gives_types = config.gives_types};
  if (whole) {
    out.file = folder.place_of("tokenizer.json");
    out.json = folder.read_text("tokenizer.json", kTokenizerLimitBytes);
  } else if (byte_level) {
    out.file = folder.place_of("vocab.json");
    out.json = byte_level_json(folder, config);
  } else if (vocabulary) {
    out.file = folder.place_of(*vocabulary);
    out.json = vocabulary_file_json(folder, *vocabulary, config);
  } else {
    out.file = folder.place_of("vocab.txt");
    out.json = word_piece_json(folder, config);
  }
  return out;
}

SpecialTokens special_tokens_of(
    const SpecialSpellings& named,
    const std::function<std::optional<std::int64_t>(std::string_view)>& id_of) {
  const auto find = [&](std::string_view key, std::initializer_list<std::string_view> usual) {
    if (const auto spelling = named.find(key); spelling != named.end()) {
      return id_of(spelling->second);
    }
    for (const std::string_view spelling : usual) {
      if (const auto id = id_of(spelling)) return id;
    }
    return std::optional<std::int64_t>();
  };
  return {.mask = find("mask_token", {"[MASK]", "<mask>"}),
          .begin = find("bos_token", {"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"}),
          .end = find("eos_token", {"</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>"}),
          .unknown = find("unk_token", {"[UNK]", "<unk>"}),
          .padding = find("pad_token", {"[PAD]", "<pad>"})};
}

namespace {

constexpr std::uint64_t kConfigLimitBytes = 20'000'000;
constexpr std::uint64_t kMaxAddedTokens = 100'000;
constexpr std::int64_t kMaxAddedId = 4'000'000;

constexpr std::array kSpecialKeys = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};

[[noreturn]] void refuse_tokenizer_config(const std::string& file, std::string problem) {
  throw Error(ErrorKind::format, {.file = file, .problem = std::move(problem)});
}

/// Returns the JSON object in a file, or an empty object if the file does not exist.
nlohmann::json read_object(const CheckpointFolder& folder, const char* name) {
  if (!folder.has(name)) return nlohmann::json::object();
  const std::string file = folder.place_of(name);
  nlohmann::json object = parse_python_json(folder.read_text(name, kConfigLimitBytes), file);
  if (!object.is_object()) refuse_tokenizer_config(file, "is not a JSON object");
  return object;
}

/// Spellings are strings, or objects with a "content".
void add_spellings(const nlohmann::json& object, const std::string& file, SpecialSpellings& into) {
  for (const char* key : kSpecialKeys) {
    const auto value = object.find(key);
    if (value == object.end() || value->is_null()) continue;
    const nlohmann::json* spelling = &*value;
    if (value->is_object() && value->contains("content")) spelling = &(*value)["content"];
    if (!spelling->is_string()) {
      refuse_tokenizer_config(
          file, "'" + std::string(key) + "' is neither a string nor an object with 'content'");
    }
    into.emplace(key, spelling->get<std::string>());
  }
}

std::optional<bool> flag(const nlohmann::json& object, const std::string& file, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return std::nullopt;
  if (!value->is_boolean())
    refuse_tokenizer_config(file, "'" + std::string(key) + "' is neither true nor false");
  return value->get<bool>();
}

std::optional<std::string> text(const nlohmann::json& object, const std::string& file,
                                const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return std::nullopt;
  if (!value->is_string())
    refuse_tokenizer_config(file, "'" + std::string(key) + "' is not a string");
  return value->get<std::string>();
}

std::optional<std::int64_t> extra_ids(const nlohmann::json& object, const std::string& file) {
  const auto value = object.find("extra_ids");
  if (value == object.end() || value->is_null()) return std::nullopt;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kMaxAddedTokens) {
    refuse_tokenizer_config(file, "'extra_ids' is not a number from 0 to 100000");
  }
  return value->get<std::int64_t>();
}

std::map<std::int64_t, std::string> added_tokens_of(const nlohmann::json& object,
                                                    const std::string& file) {
  std::map<std::int64_t, std::string> tokens;
  const auto listed = object.find("added_tokens_decoder");
  if (listed == object.end() || !listed->is_object()) return tokens;
  for (const auto& [id, token] : listed->items()) {
    const auto content = token.is_object() ? token.find("content") : token.end();
    std::int64_t number = -1;
    const auto parsed = std::from_chars(id.data(), id.data() + id.size(), number);
    if (parsed.ptr != id.data() + id.size() || number < 0 || number > kMaxAddedId ||
        content == token.end() || !content->is_string()) {
      refuse_tokenizer_config(file,
                              "'added_tokens_decoder' does not map ids to objects with "
                              "'content'");
    }
    tokens.emplace(number, content->get<std::string>());
  }
  return tokens;
}

/// Whether token types are among the model's inputs. Without a list, tokenizers give them, and
/// models without type embeddings ignore them.
bool gives_types(const nlohmann::json& object) {
  const auto names = object.find("model_input_names");
  if (names == object.end() || !names->is_array()) return true;
  return std::find(names->begin(), names->end(), "token_type_ids") != names->end();
}

}  // namespace

std::string TokenizerConfig::spelling(std::string_view key, std::string_view usual) const {
  const auto named = special.find(key);
  return named != special.end() ? named->second : std::string(usual);
}

TokenizerConfig read_tokenizer_config(const CheckpointFolder& folder, bool of_vocabulary) {
  constexpr const char* kConfig = "tokenizer_config.json";
  constexpr const char* kMap = "special_tokens_map.json";
  const std::string file = folder.place_of(kConfig);
  const nlohmann::json object = read_object(folder, kConfig);
  TokenizerConfig out{
      .tokenizer_class = text(object, file, "tokenizer_class"),
      .add_bos_token = flag(object, file, "add_bos_token"),
      .add_eos_token = flag(object, file, "add_eos_token"),
      .add_prefix_space = flag(object, file, "add_prefix_space"),
      .do_lower_case = flag(object, file, "do_lower_case"),
      .strip_accents = flag(object, file, "strip_accents"),
      .tokenize_chinese_chars = flag(object, file, "tokenize_chinese_chars"),
      .keep_accents = flag(object, file, "keep_accents"),
      .split_by_punct = flag(object, file, "split_by_punct"),
      .legacy = flag(object, file, "legacy"),
      .gives_types = gives_types(object),
      .exists = folder.has(kConfig),
  };
  if (of_vocabulary) {
    out.extra_ids = extra_ids(object, file);
    out.added_tokens = added_tokens_of(object, file);
  }
  add_spellings(object, file, out.special);
  add_spellings(read_object(folder, kMap), folder.place_of(kMap), out.special);
  return out;
}

}  // namespace attnscope
