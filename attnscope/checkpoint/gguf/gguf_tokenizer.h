// Converts the tokenizer in a GGUF file to a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// Returns a function that creates a tokenizer.json equivalent to transformers' tokenizer of the
/// model. Returns null if the file has no tokenizer or an unsupported one; `notes` then reports it.
/// Both throw Error(format) for values of the wrong type.
std::function<std::string()> gguf_tokenizer(std::shared_ptr<const GgufFile> file,
                                            std::vector<std::string>& notes);

// Converts SentencePiece's vocabulary with scores into equivalent merges of pairs.

struct ScoredToken {
  std::string_view spelling;
  float score = 0;
  bool joined = false;  // merged from two others; false for bytes and special tokens
};

/// Returns every way to merge two tokens into a token, by descending score, as transformers does
/// for a SentencePiece model. Tokens of more than 256 bytes, which no model has, get no merges.
/// Source: huggingface/transformers, convert_slow_tokenizer.py, generate_merges.
std::vector<std::pair<std::string_view, std::string_view>> merges_by_score(
    const std::vector<ScoredToken>& tokens);

}  // namespace attnscope
