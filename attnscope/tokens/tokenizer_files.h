// Finds the files of a folder's tokenizer, and converts those of older checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/tokens/tokenizer.h"

namespace attnscope {

/// Special tokens by tokenizer_config.json and special_tokens_map.json: "mask_token" → "[MASK]".
using SpecialSpellings = std::map<std::string, std::string, std::less<>>;

struct TokenizerFiles {
  std::string json;  // the text of a tokenizer.json, read or converted
  std::string file;  // its source file, for messages
  SpecialSpellings special;
};

/// Nothing if `folder` has no tokenizer. See Tokenizer::find().
std::optional<TokenizerFiles> find_tokenizer_files(const CheckpointFolder& folder);

/// Ids of the spellings that the files name; for others, of spellings in common use.
SpecialTokens special_tokens_of(
    const SpecialSpellings& named,
    const std::function<std::optional<std::int64_t>(std::string_view spelling)>& id_of);

}  // namespace attnscope
