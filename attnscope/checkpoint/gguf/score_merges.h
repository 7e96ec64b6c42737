// SentencePiece's vocabulary with scores, as the merges of pairs that do the same.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope {

struct ScoredToken {
  std::string_view spelling;
  float score = 0;
  bool joined = false;  // from two others; not so bytes and special tokens
};

/// Each way in which a token is two others, by falling score, as transformers makes merges of a
/// SentencePiece model. Tokens of more than 256 bytes, which no model has, are not joined.
/// Source: huggingface/transformers, convert_slow_tokenizer.py, generate_merges.
std::vector<std::pair<std::string_view, std::string_view>> merges_by_score(
    const std::vector<ScoredToken>& tokens);

}  // namespace attnscope
