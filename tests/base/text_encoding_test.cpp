#include "attnscope/base/text_encoding.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using namespace std::string_literals;

TEST(TextEncoding, DropsOneByteOrderMark) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBFTo be", {}), "To be");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF\xEF\xBB\xBF", {}), "\xEF\xBB\xBF");
  for (const char* text : {"", "To be", "\xEF\xBB", "a\xEF\xBB\xBF"}) {
    EXPECT_EQ(without_byte_order_mark(text, {}), text);
  }
}

TEST(TextEncoding, NamesTheEncodingOfAByteOrderMark) {
  const struct {
    std::string bytes;
    const char* name;
  } marked[] = {{"\xFF\xFET\0"s, "UTF-16"},
                {"\xFE\xFF\0T"s, "UTF-16"},
                {"\xFF\xFE"s, "UTF-16"},
                {"\xFF\xFE\0\0T\0\0\0"s, "UTF-32"},
                {"\0\0\xFE\xFF\0\0\0T"s, "UTF-32"}};
  for (const auto& one : marked) {
    EXPECT_ERROR_SAYING(ErrorKind::format, without_byte_order_mark(one.bytes, {.file = "t.txt"}),
                        "t.txt: the text is ", one.name,
                        ", expected UTF-8 (convert the file: iconv -f ");
  }
}

TEST(TextEncoding, DetectsUtf16And32WithoutAByteOrderMark) {
  EXPECT_EQ(unmarked_encoding("T\0o\0"s), "UTF-16LE");
  EXPECT_EQ(unmarked_encoding("\0T\0o"s), "UTF-16BE");
  EXPECT_EQ(unmarked_encoding("T\0\0\0"s), "UTF-32LE");
  EXPECT_EQ(unmarked_encoding("\0\0\0T"s), "UTF-32BE");
  for (const std::string& text : {""s, "T\0"s, "To be"s, "\0\0\0\0"s, "ab\0c"s}) {
    EXPECT_EQ(unmarked_encoding(text), std::nullopt);
  }
}

}  // namespace
}  // namespace attnscope::test
