// Converts tiktoken files: the tokens of a byte-level BPE in base64, each with its rank.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/inputs/text/tokenizer_files.h"

namespace attnscope {

/// Whether the text begins like a tiktoken file: base64, a space, a number.
bool is_tiktoken(std::string_view text);

/// Returns the tokenizer.json equivalent to the file, like transformers' TikTokenConverter, which
/// splits words like Llama 3. Its special tokens follow the others: those that
/// tokenizer_config.json lists, otherwise Llama 3's if the file has its 128,000 tokens. Throws
/// Error(format).
std::string tiktoken_json(std::string_view text, const std::string& file,
                          const TokenizerConfig& config);

}  // namespace attnscope
