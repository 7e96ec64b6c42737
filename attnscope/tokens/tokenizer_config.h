// Values of tokenizer_config.json and special_tokens_map.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tokens/tokenizer_files.h"

namespace attnscope {

/// Named as in tokenizer_config.json; nothing if a value is absent.
struct TokenizerConfig {
  std::optional<std::string> tokenizer_class;  // "RobertaTokenizer"
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  SpecialSpellings special;

  /// The spelling of a special token, or `usual` if no file names one.
  std::string spelling(std::string_view key, std::string_view usual) const;
};

/// Reads the files of a folder that exist. Throws Error(io), or Error(format) for a value of the
/// wrong type.
TokenizerConfig read_tokenizer_config(const CheckpointFolder& folder);

}  // namespace attnscope
