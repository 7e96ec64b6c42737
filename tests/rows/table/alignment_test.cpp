// Tables that are wider than the terminal are split into blocks below each other.
#include <sstream>

#include <gtest/gtest.h>

#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

const std::vector<std::vector<std::string>> kLines = {
    {"layer", "q a", "q b", "k a", "k b"}, {"0", "1.5", "22", "3", "4"}, {"1", "5", "6", "7", "8"}};

TEST(Fold, KeepsATableThatFits) {
  EXPECT_EQ(fold(kLines, 80), align(kLines));
  EXPECT_EQ(fold(kLines, 25), align(kLines));
}

TEST(Fold, RepeatsTheFirstCellsInEachBlock) {
  EXPECT_EQ(fold(kLines, 16),
            "layer  q a  q b\n0      1.5   22\n1        5    6\n"
            "\n"
            "layer  k a  k b\n0        3    4\n1        7    8\n");
}

TEST(Fold, KeepsGroupsTogether) {
  EXPECT_EQ(fold(kLines, 21, {2, 2}), fold(kLines, 16)) << "three columns would fit";
  EXPECT_EQ(fold(kLines, 5, {2, 2}), fold(kLines, 16)) << "a pair may be wider";
  EXPECT_EQ(fold(kLines, 21, {3, 1}),
            "layer  q a  q b  k a\n0      1.5   22    3\n1        5    6    7\n"
            "\n"
            "layer  k b\n0        4\n1        8\n");
}

TEST(Fold, OneColumnMayBeWider) {
  EXPECT_EQ(fold({{"name", "value"}, {"a", "a long text"}}, 4),
            "name        value\na     a long text\n");
  EXPECT_EQ(fold({{"name"}, {"a"}}, 2), "name\na\n");
  EXPECT_EQ(fold({}, 80), "");
}

TEST(Fold, OmitsLinesThatAreEmptyInABlock) {
  EXPECT_EQ(fold({{"x", "1", "2"}, {"y", "3"}}, 4), "x  1\ny  3\n\nx  2\n");
  EXPECT_EQ(fold({{"x", "1", "2"}, {"y", "", "3"}}, 4), "x  1\n\nx  2\ny  3\n");
}

}  // namespace
namespace {

std::string legend_text(int width, const std::string& text, const std::string& key = "") {
  std::ostringstream out;
  WriteOptions options;
  options.width = width;
  write_legend(text, options, out, key);
  return out.str();
}

TEST(Legend, BreaksOnlyAtSpaces) {
  EXPECT_EQ(legend_text(80, "Mean of all."), "Mean of all.\n");
  EXPECT_EQ(legend_text(12, "Mean of all."), "Mean of all.\n");
  EXPECT_EQ(legend_text(11, "Mean of all."), "Mean of\nall.\n");
  EXPECT_EQ(legend_text(3, "Mean of all."), "Mean\nof\nall.\n");
}

TEST(Legend, CountsColumnsNotBytes) { EXPECT_EQ(legend_text(5, "± ± ±"), "± ± ±\n"); }

TEST(Legend, AKeyFollowsOrHasItsOwnLine) {
  EXPECT_EQ(legend_text(16, "Mean of all.", "0▆"), "Mean of all.; 0▆\n");
  EXPECT_EQ(legend_text(15, "Mean of all.", "0▆"), "Mean of all.\n0▆\n");
}

}  // namespace
}  // namespace attnscope
