// Decodes tokens that come one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Returns the text piece by piece, in whole characters. A character that spans several tokens
/// comes with the last of them. Special tokens are left out.
class TextStream {
 public:
  /// `tokenizer` must outlive it.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The text that a token adds; empty if the token ends within a character.
  std::string add(std::int64_t token);

  /// The rest of the text. Call after the last token.
  std::string end() { return take(decoded()); }

 private:
  std::string decoded() const { return tokenizer_.decode(tokens_, /*skip_special=*/true); }
  std::string take(const std::string& text);

  const Tokenizer& tokenizer_;
  TokenIds tokens_;        // tokens that the next text depends on
  std::size_t given_ = 0;  // how many of these have been returned as text
  std::size_t given_bytes_ = 0;
  std::size_t incomplete_tokens_ = 0;  // how many of the last tokens end within a character
};

}  // namespace attnscope
