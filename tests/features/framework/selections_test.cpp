// Ranks in requests.
#include "attnscope/features/framework/selections.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

TEST(Rank, TextRoundTrips) {
  for (const char* text : {"1", "512", "1D", "0.1D", "0.0001D", "0.000000000012345D"}) {
    EXPECT_EQ(parse_rank(text).text(), text);
  }
  for (const double share : {5e-324, 1e-100, 1.0 / 3, 0.1, 1.0}) {
    const Rank rank{.number = share, .of_width = true};
    EXPECT_EQ(parse_rank(rank.text()), rank) << share;
  }
}

TEST(Rank, IsAnIntegerOrAShare) {
  for (const char* text : {"", "D", "0", "-1", "1.5", "0D", "1.1D", "-0.5D", "1e-4D", "nanD",
                           "0.1d", "0.1DD", " 1", "1 "}) {
    EXPECT_ERROR_SAYING(ErrorKind::usage, parse_rank(text), "rank", text);
  }
}

TEST(Rank, ResolvesToAtLeastOne) {
  EXPECT_EQ(parse_rank("0.0001D").resolve(32), 1);
  EXPECT_EQ(parse_rank("0.1D").resolve(4096), 410);
  EXPECT_EQ(parse_rank("1D").resolve(4096), 4096);
  EXPECT_EQ(parse_rank("7").resolve(4), 7);
}

}  // namespace
}  // namespace attnscope::test
