// Decodes tokens one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Returns the text piece by piece, in complete characters. A character that spans several tokens
/// is returned with its last token. Special tokens are skipped.
class TextStream {
 public:
  /// `tokenizer` must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Returns the text that a token adds; empty if the token ends within a character.
  std::string add(std::int64_t token);

  /// Returns the rest of the text. Call it after the last token.
  std::string end() { return take(decoded()); }

 private:
  std::string decoded() const { return tokenizer_.decode(tokens_, /*skip_special=*/true); }
  std::string take(const std::string& text);

  const Tokenizer& tokenizer_;
  TokenIds tokens_;        // tokens that affect the next text
  std::size_t given_ = 0;  // number of these already returned as text
  std::size_t given_bytes_ = 0;
  std::size_t incomplete_tokens_ = 0;  // number of last tokens that end within a character
};

}  // namespace attnscope
