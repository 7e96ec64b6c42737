// The tokenizer inside a GGUF file, as a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// A function that makes the text of a tokenizer.json equivalent to transformers' tokenizer of the
/// model. Null if the file has no tokenizer, or an unsupported one, which `notes` then says. Both
/// throw Error(format) for values of the wrong type.
std::function<std::string()> gguf_tokenizer(std::shared_ptr<const GgufFile> file,
                                            std::vector<std::string>& notes);

// Converts SentencePiece's vocabulary with scores into equivalent merges of pairs.

struct ScoredToken {
  std::string_view spelling;
  float score = 0;
  bool joined = false;  // made of two others; false for bytes and special tokens
};

/// Every way to make a token of two others, by descending score, as transformers makes merges of a
/// SentencePiece model. Tokens of more than 256 bytes, which no model has, get no merges. Source:
/// huggingface/transformers, convert_slow_tokenizer.py, generate_merges.
std::vector<std::pair<std::string_view, std::string_view>> merges_by_score(
    const std::vector<ScoredToken>& tokens);

}  // namespace attnscope
