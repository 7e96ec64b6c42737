#include "attnscope/tokens/tokenizer_config.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kConfigLimitBytes = 20'000'000;

constexpr std::array kSpecialKeys = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};

[[noreturn]] void refuse_tokenizer_config(const std::string& file, std::string problem) {
  throw Error(ErrorKind::format, {.file = file, .problem = std::move(problem)});
}

/// The object in a file, or an empty one where there is no file.
nlohmann::json read_object(const CheckpointFolder& folder, const char* name) {
  if (!folder.has(name)) return nlohmann::json::object();
  const std::string file = folder.place_of(name);
  nlohmann::json object = parse_python_json(folder.read_text(name, kConfigLimitBytes), file);
  if (!object.is_object()) refuse_tokenizer_config(file, "is not a JSON object");
  return object;
}

/// Spellings are texts, or objects with a "content".
void add_spellings(const nlohmann::json& object, const std::string& file, SpecialSpellings& into) {
  for (const char* key : kSpecialKeys) {
    const auto value = object.find(key);
    if (value == object.end() || value->is_null()) continue;
    const nlohmann::json* spelling = &*value;
    if (value->is_object() && value->contains("content")) spelling = &(*value)["content"];
    if (!spelling->is_string()) {
      refuse_tokenizer_config(
          file, "'" + std::string(key) + "' is neither a text nor an object with 'content'");
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
    refuse_tokenizer_config(file, "'" + std::string(key) + "' is not a text");
  return value->get<std::string>();
}

}  // namespace

std::string TokenizerConfig::spelling(std::string_view key, std::string_view usual) const {
  const auto named = special.find(key);
  return named != special.end() ? named->second : std::string(usual);
}

TokenizerConfig read_tokenizer_config(const CheckpointFolder& folder) {
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
  };
  add_spellings(object, file, out.special);
  add_spellings(read_object(folder, kMap), folder.place_of(kMap), out.special);
  return out;
}

}  // namespace attnscope
