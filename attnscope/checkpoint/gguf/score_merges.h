// Converts SentencePiece's vocabulary with scores into equivalent merges of pairs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope {

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
