// Finds the tokenizer files of a folder, and converts those of older checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Special tokens from tokenizer_config.json and special_tokens_map.json: "mask_token" → "[MASK]".
using SpecialSpellings = std::map<std::string, std::string, std::less<>>;

struct TokenizerFiles {
  std::string json;  // the text of a tokenizer.json, read or converted
  std::string file;  // its source file, for messages
  SpecialSpellings special;
  /// False: tokenizer_config.json lists the model's inputs, and token types are not among them.
  bool gives_types = true;
};

/// Returns nothing if `folder` has no tokenizer. See Tokenizer::find().
std::optional<TokenizerFiles> find_tokenizer_files(const CheckpointFolder& folder);

/// Ids of the spellings that the files specify, otherwise of spellings in common use.
SpecialTokens special_tokens_of(
    const SpecialSpellings& named,
    const std::function<std::optional<std::int64_t>(std::string_view spelling)>& id_of);

// Values of tokenizer_config.json and special_tokens_map.json.

/// With the names of tokenizer_config.json; nothing if a value is absent.
struct TokenizerConfig {
  std::optional<std::string> tokenizer_class;  // "RobertaTokenizer"
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  std::optional<bool> keep_accents;
  std::optional<bool> split_by_punct;
  std::optional<bool> legacy;
  std::optional<std::int64_t> extra_ids;             // only for a vocabulary file
  std::map<std::int64_t, std::string> added_tokens;  // only for a vocabulary file: by id, of
                                                     // `added_tokens_decoder`
  bool gives_types = true;                           // see TokenizerFiles
  SpecialSpellings special;
  bool exists = false;  // whether the folder has a tokenizer_config.json

  /// Returns the spelling of a special token, or `usual` if no file specifies one.
  std::string spelling(std::string_view key, std::string_view usual) const;
};

/// Reads the files of a folder that exist. `of_vocabulary`: for a vocabulary file, whose additional
/// tokens only the config lists. Throws Error(io), or Error(format) for a value of the wrong type.
TokenizerConfig read_tokenizer_config(const CheckpointFolder& folder, bool of_vocabulary);

}  // namespace attnscope
