#include "attnscope/base/text.h"

#include <gtest/gtest.h>

#include <string_view>

namespace attnscope {
namespace {

TEST(Utf8, DecodesCodePointsOfEachLength) {
  EXPECT_EQ(code_point("a"), U'a');
  EXPECT_EQ(code_point("\u00e9"), U'\u00e9');
  EXPECT_EQ(code_point("\u2581"), U'\u2581');
  EXPECT_EQ(code_point("\U0001F600"), U'\U0001F600');
  EXPECT_EQ(code_point("\U0010FFFF"), U'\U0010FFFF');
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(first_broken_utf8(""), std::nullopt);
  EXPECT_EQ(first_broken_utf8("na\u00efve \U0001F600"), std::nullopt);
  EXPECT_EQ(first_broken_utf8("ab\xC3"), 2u);
  EXPECT_EQ(first_broken_utf8("\u00e9\xFF"), 2u);
}

}  // namespace
}  // namespace attnscope
