#include "attnscope/base/text_encoding.h"

#include <utility>

namespace attnscope {

std::optional<std::string_view> marked_encoding(std::string_view bytes) {
  using namespace std::string_view_literals;  // their zero bytes count
  // UTF-32's little-endian mark begins with that of UTF-16.
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
  where.problem = "is " + name + " text, expected UTF-8";
  where.hint = "convert it: iconv -f " + name + " -t UTF-8";
  throw Error(ErrorKind::format, std::move(where));
}

std::string without_byte_order_mark(std::string bytes, ErrorParts where) {
  if (const auto encoding = marked_encoding(bytes)) refuse_encoding(std::move(where), *encoding);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kMark)) bytes.erase(0, kMark.size());
  return bytes;
}

}  // namespace attnscope
