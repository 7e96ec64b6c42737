// Which files of a folder make its tokenizer, and what those of older checkpoints mean.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/tokens/tokenizer.h"

namespace attnscope {

/// What tokenizer_config.json and special_tokens_map.json name: "mask_token" → "[MASK]".
using SpecialSpellings = std::map<std::string, std::string, std::less<>>;

struct TokenizerFiles {
  std::string json;  // a tokenizer.json, as it was read or made
  std::string file;  // what it was read or made from, for messages
  SpecialSpellings special;
};

/// Nothing where `folder` has no tokenizer. See Tokenizer::find().
std::optional<TokenizerFiles> find_tokenizer_files(const CheckpointFolder& folder);

/// Ids of the spellings that the files name, or else of those in common use.
SpecialTokens special_tokens_of(
    const SpecialSpellings& named,
    const std::function<std::optional<std::int64_t>(std::string_view spelling)>& id_of);

}  // namespace attnscope
