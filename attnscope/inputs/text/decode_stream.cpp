#include "attnscope/inputs/text/decode_stream.h"

namespace attnscope {
namespace {

/// A decoder returns U+FFFD for bytes that are not (or not yet) a complete character.
bool ends_within_character(const std::string& text) { return text.ends_with("\uFFFD"); }

}  // namespace

std::string TextStream::add(std::int64_t token) {
  constexpr std::size_t kMaxBytes = 4;  // maximum for one character, and so also in tokens
  tokens_.push_back(token);
  const std::string text = decoded();
  if (ends_within_character(text) && ++incomplete_tokens_ < kMaxBytes) return "";
  incomplete_tokens_ = 0;
  return take(text);
}

/// Returns the part of `text`, the decoding of all pending tokens, that was not returned yet.
std::string TextStream::take(const std::string& text) {
  if (text.size() <= given_bytes_) return "";
  std::string piece = text.substr(given_bytes_);
  // The spelling of a token depends on whether it is the first. The last tokens are kept as context
  // for the next ones.
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = tokens_.size();
  given_bytes_ = decoded().size();
  return piece;
}

}  // namespace attnscope
