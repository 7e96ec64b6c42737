#include "attnscope/core/error.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Error, TableFollowsTheEnum) {
  for (std::size_t index = 0; index < kErrorKinds.size(); ++index) {
    EXPECT_EQ(static_cast<std::size_t>(kErrorKinds[index].kind), index);
  }
}

// Scripts depend on these.
TEST(Error, KindsHaveStableNamesAndExitCodes) {
  const struct {
    ErrorKind kind;
    std::string_view name;
    int exit_code;
  } contract[] = {
      {ErrorKind::usage, "usage", 2},         {ErrorKind::io, "io", 3},
      {ErrorKind::format, "format", 4},       {ErrorKind::unsupported, "unsupported", 5},
      {ErrorKind::numerical, "numerical", 6},
  };
  ASSERT_EQ(std::size(contract), kErrorKinds.size());
  for (const auto& [kind, name, code] : contract) {
    EXPECT_EQ(exit_code(kind), code);
    EXPECT_EQ(kErrorKinds[static_cast<std::size_t>(kind)].name, name);
  }
}

TEST(Error, MessageIsWhereThenWhatOnOneLine) {
  const Error error(ErrorKind::io, "a\nfile", "can\x1b[31mnot\t");
  EXPECT_STREQ(error.what(), "a\\x0afile: can\\x1b[31mnot\\x09");
  EXPECT_EQ(error.kind(), ErrorKind::io);
}

}  // namespace
}  // namespace attnscope
