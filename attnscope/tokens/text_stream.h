// The text of tokens that come one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attnscope/tokens/token_ids.h"
#include "attnscope/tokens/tokenizer.h"

namespace attnscope {

/// Gives the text piece by piece, in whole characters: a character whose bytes are those of several
/// tokens comes with the last of them. Special tokens are left out.
class TextStream {
 public:
  /// `tokenizer` must outlive it.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// What a token adds; empty where it ends within a character.
  std::string add(std::int64_t token);

  /// What was held back, once no token follows.
  std::string end() { return take(decoded()); }

 private:
  std::string decoded() const { return tokenizer_.decode(tokens_, /*skip_special=*/true); }
  std::string take(const std::string& text);

  const Tokenizer& tokenizer_;
  TokenIds tokens_;        // those that the next text depends on
  std::size_t given_ = 0;  // of them, whose text was given
  std::size_t given_bytes_ = 0;
  std::size_t held_back_ = 0;  // the last tokens, which ended within a character
};

}  // namespace attnscope
