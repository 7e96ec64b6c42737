// tokenizer_config.json and special_tokens_map.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/forward/tokenizer_files.h"

namespace attnscope {

/// By the names of tokenizer_config.json; nothing where it does not say.
struct TokenizerConfig {
  std::optional<std::string> tokenizer_class;  // "RobertaTokenizer"
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  SpecialSpellings special;

  /// The spelling of a special token, or `usual` where no file names one.
  std::string spelling(std::string_view key, std::string_view usual) const;
};

/// Of a folder, where the files are there; else empty. Throws Error(io), or Error(format) where a
/// value is of another type.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace attnscope
