#include "attnscope/inputs/text/token_text.h"

#include <gtest/gtest.h>

#include <string_view>

namespace attnscope {
namespace {

using namespace std::string_view_literals;

TEST(TokenText, KeepsReadableText) {
  for (const std::string_view text :
       {""sv, " the"sv, "naïve"sv, "日本"sv, "😀"sv, "a\u0301"sv, "שלום"sv}) {
    EXPECT_EQ(token_text(text), text);
  }
}

TEST(TokenText, EscapesInvisibleAndControlCharacters) {
  const struct {
    std::string_view bytes, shown;
  } cases[] = {
      {"\n", "\\n"},
      {"\r\n\t", "\\r\\n\\t"},
      {"\\n", "\\\\n"},
      {"\0"sv, "\\u{0}"},
      {"\x1b[31m", "\\u{1B}[31m"},
      {"\x7f", "\\u{7F}"},
      {"\xC2\x9B", "\\u{9B}"},        // a two-byte control character
      {"\xC2\xA0", "\\u{A0}"},        // a no-break space
      {"\u200d", "\\u{200D}"},        // joiner
      {"\u202eabc", "\\u{202E}abc"},  // right-to-left override
      {"\u2066\u061c", "\\u{2066}\\u{61C}"},
      {"\u2028", "\\u{2028}"},
      {"\ufeff", "\\u{FEFF}"},
      {"\ufe0f", "\\u{FE0F}"},
      {"\U000E0041", "\\u{E0041}"},
      {"\U0010FFFF", "\\u{10FFFF}"},
      {"\xE2", "\\xE2"},  // the first of three bytes
      {"\xE2\x96", "\\xE2\\x96"},
      {"\x81 a", "\\x81 a"},
      {"\xC0\x80", "\\xC0\\x80"},           // overlong encoding of NUL
      {"\xED\xA0\x80", "\\xED\\xA0\\x80"},  // half a surrogate pair
      {"a\xFFz", "a\\xFFz"},
  };
  for (const auto& example : cases) EXPECT_EQ(token_text(example.bytes), example.shown);
}

TEST(TokenText, ShowsSpacesOnRequest) {
  EXPECT_EQ(token_text(" the  cat ", Spaces::visible), "␣the␣␣cat␣");
}

}  // namespace
}  // namespace attnscope
