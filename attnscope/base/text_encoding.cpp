#include "attnscope/base/text_encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace attnscope {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The six bits that each base64 digit stands for; 64 for other bytes.
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
  // The unused bits of the last digit must be zero.
  const bool whole = (bits & (padding == 2 ? 15U : padding == 1 ? 3U : 0U)) == 0;
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string_view> marked_encoding(std::string_view bytes) {
  using namespace std::string_view_literals;  // so that the literals keep their zero bytes
  // The UTF-32 little-endian mark begins with the UTF-16 mark.
  if (bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (bytes.starts_with("\xFF\xFE"sv) || bytes.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return std::nullopt;
}

std::optional<std::string_view> unmarked_encoding(std::string_view bytes) {
  if (bytes.size() < 4) return std::nullopt;
  std::string zeros;
  for (const char byte : bytes.substr(0, 4)) zeros += byte == '\0' ? '0' : 'x';
  if (zeros == "x000") return "UTF-32LE";
  if (zeros == "000x") return "UTF-32BE";
  if (zeros == "x0x0") return "UTF-16LE";
  if (zeros == "0x0x") return "UTF-16BE";
  return std::nullopt;
}

void refuse_encoding(ErrorParts where, std::string_view encoding) {
  const std::string name(encoding);
  where.problem = "the text is " + name + ", expected UTF-8";
  where.hint = "convert the file: iconv -f " + name + " -t UTF-8";
  throw Error(ErrorKind::format, std::move(where));
}

std::string without_byte_order_mark(std::string bytes, ErrorParts where) {
  if (const auto encoding = marked_encoding(bytes)) refuse_encoding(std::move(where), *encoding);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kMark)) bytes.erase(0, kMark.size());
  return bytes;
}

}  // namespace attnscope
