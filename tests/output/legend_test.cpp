#include "attnscope/output/legend.h"

#include <gtest/gtest.h>

#include <sstream>

namespace attnscope {
namespace {

std::string legend_text(int width, const std::string& text, const std::string& key = "") {
  std::ostringstream out;
  WriteOptions options;
  options.width = width;
  write_legend(text, options, out, key);
  return out.str();
}

TEST(Legend, BreaksAtBlanksAndNowhereElse) {
  EXPECT_EQ(legend_text(80, "Mean of all."), "Mean of all.\n");
  EXPECT_EQ(legend_text(12, "Mean of all."), "Mean of all.\n");
  EXPECT_EQ(legend_text(11, "Mean of all."), "Mean of\nall.\n");
  EXPECT_EQ(legend_text(3, "Mean of all."), "Mean\nof\nall.\n");
}

TEST(Legend, CountsColumnsNotBytes) { EXPECT_EQ(legend_text(5, "± ± ±"), "± ± ±\n"); }

TEST(Legend, AKeyFollowsOrHasALineOfItsOwn) {
  EXPECT_EQ(legend_text(16, "Mean of all.", "0▆"), "Mean of all.; 0▆\n");
  EXPECT_EQ(legend_text(15, "Mean of all.", "0▆"), "Mean of all.\n0▆\n");
}

}  // namespace
}  // namespace attnscope
