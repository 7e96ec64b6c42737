#include "attnscope/inputs/text/decode_stream.h"

namespace attnscope {
namespace {

/// A decoder puts U+FFFD where bytes are no character, or not yet.
bool ends_within_character(const std::string& text) { return text.ends_with("\uFFFD"); }

}  // namespace

std::string TextStream::add(std::int64_t token) {
  constexpr std::size_t kMaxBytes = 4;  // of a character, and so tokens
  tokens_.push_back(token);
  const std::string text = decoded();
  if (ends_within_character(text) && ++incomplete_tokens_ < kMaxBytes) return "";
  incomplete_tokens_ = 0;
  return take(text);
}

/// The part of `text`, which all kept tokens make, that was not given.
std::string TextStream::take(const std::string& text) {
  if (text.size() <= given_bytes_) return "";
  std::string piece = text.substr(given_bytes_);
  // How a token is written depends on whether it is the first: the last ones stay for the next.
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = tokens_.size();
  given_bytes_ = decoded().size();
  return piece;
}

}  // namespace attnscope
