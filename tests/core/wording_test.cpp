#include "attnscope/core/wording.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace attnscope {
namespace {

using Words = std::vector<std::string>;

TEST(Wording, CountsOneThingAsOne) {
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(std::uint64_t{1} << 63, "byte"), "9223372036854775808 bytes");
  EXPECT_EQ(counted(std::int64_t{-1}, "layer"), "-1 layers");
  EXPECT_EQ(counted(1, "matrix", "matrices"), "1 matrix");
  EXPECT_EQ(counted(2, "matrix", "matrices"), "2 matrices");
  EXPECT_EQ(noun_for(1, "sequence"), "sequence");
}

TEST(Wording, ListsAsTheyAreTyped) {
  EXPECT_EQ(list_parts("1,2"), (Words{"1", "2"}));
  EXPECT_EQ(list_parts(" 1 ,\t2\n"), (Words{"1", "2"}));
  EXPECT_EQ(list_parts("a b, c"), (Words{"a b", "c"}));
  EXPECT_EQ(list_parts(""), Words{""});
  EXPECT_EQ(list_parts(" ,"), (Words{"", ""}));
}

TEST(Wording, Alternatives) {
  EXPECT_EQ(join_alternatives(Words{}), "");
  EXPECT_EQ(join_alternatives(Words{"a"}), "a");
  EXPECT_EQ(join_alternatives(Words{"a", "b"}), "a or b");
  EXPECT_EQ(join_alternatives(Words{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace attnscope
