#include "attnscope/inputs/text/token_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

struct Range {
  char32_t first, last;
};

/// Source: Unicode's Default_Ignorable_Code_Point, and its general categories Cc, Cf, Zl, Zp and Co
/// (private use, for which terminals have their own symbols), with all spaces other than U+0020.
constexpr std::array kNotSeen = {
    Range{0x00, 0x1F},       Range{0x7F, 0xA0},       Range{0xAD, 0xAD},
    Range{0x34F, 0x34F},     Range{0x600, 0x605},     Range{0x61C, 0x61C},
    Range{0x6DD, 0x6DD},     Range{0x70F, 0x70F},     Range{0x890, 0x891},
    Range{0x8E2, 0x8E2},     Range{0x115F, 0x1160},   Range{0x1680, 0x1680},
    Range{0x17B4, 0x17B5},   Range{0x180B, 0x180F},   Range{0x2000, 0x200F},
    Range{0x2028, 0x202F},   Range{0x205F, 0x206F},   Range{0x3000, 0x3000},
    Range{0x3164, 0x3164},   Range{0xE000, 0xF8FF},   Range{0xFE00, 0xFE0F},
    Range{0xFEFF, 0xFEFF},   Range{0xFFA0, 0xFFA0},   Range{0xFFF0, 0xFFFB},
    Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD}, Range{0x13430, 0x1343F},
    Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A}, Range{0xE0000, 0x10FFFF},
};

bool is_seen(char32_t code) {
  const auto range = std::lower_bound(kNotSeen.begin(), kNotSeen.end(), code,
                                      [](const Range& a, char32_t b) { return a.last < b; });
  return range == kNotSeen.end() || code < range->first;
}

std::string escaped(const char* format, unsigned value) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

std::string token_text(std::string_view bytes, Spaces spaces) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view sequence = bytes.substr(0, std::max<std::size_t>(length, 1));
    const char32_t code = length == 0 ? 0 : code_point(sequence);
    if (length == 0) {
      out += escaped("\\x%02X", static_cast<unsigned char>(sequence[0]));
    } else if (code == U'\n') {
      out += "\\n";
    } else if (code == U'\r') {
      out += "\\r";
    } else if (code == U'\t') {
      out += "\\t";
    } else if (code == U'\\') {
      out += "\\\\";
    } else if (code == U' ' && spaces == Spaces::visible) {
      out += "\u2423";
    } else if (is_seen(code)) {
      out += sequence;
    } else {
      out += escaped("\\u{%X}", code);
    }
    bytes.remove_prefix(sequence.size());
  }
  return out;
}

}  // namespace attnscope
