#include "attnscope/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace attnscope {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The six bits that each byte stands for as a digit; 64 for what is none.
constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t at = 0; at < kDigits.size(); ++at) {
    values[static_cast<std::uint8_t>(kDigits[at])] = static_cast<std::uint8_t>(at);
  }
  return values;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= count ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::array<std::uint8_t, 256> kValues = values_of_digits();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::uint32_t value = kValues[static_cast<std::uint8_t>(text[at])];
    if (value == 64) return std::nullopt;
    bits = bits << 6 | value;
    if (at % 4 > 0) out += static_cast<char>(bits >> (6 - 2 * (at % 4)) & 255);
  }
  // The last digit holds no more than the bytes do.
  const bool whole = (bits & (padding == 2 ? 15U : padding == 1 ? 3U : 0U)) == 0;
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace attnscope
