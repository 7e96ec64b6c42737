#include "attnscope/base/content_hash.h"

#include <xxhash.h>

namespace attnscope {

std::string content_hash(std::span<const std::byte> bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest.digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string content_hash(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

}  // namespace attnscope
