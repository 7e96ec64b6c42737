// Windows of an image's patches, and patch merging, on small grids.
#include "attnscope/forward/patch_windows.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnscope {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(PatchWindows, ArePaddedAtTheEnd) {
  const std::vector<PatchWindow> windows = patch_windows({.rows = 3, .cols = 2}, {.size = 2});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].patches, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(windows[0].places, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(windows[1].patches, (Numbers{4, 5}));
  EXPECT_EQ(windows[1].places, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(windows[1].grid, (PatchGrid{.rows = 1, .cols = 2}));
  EXPECT_TRUE(windows[1].regions.empty());
}

/// Of 4 × 4 patches, the windows start one patch later, and the last ones wrap around.
TEST(PatchWindows, WrapAroundIfTheyStartLater) {
  const std::vector<PatchWindow> windows =
      patch_windows({.rows = 4, .cols = 4}, {.size = 2, .shift = 1, .wrapped = -100});
  ASSERT_EQ(windows.size(), 4U);
  EXPECT_EQ(windows[0].patches, (Numbers{5, 6, 9, 10}));
  EXPECT_TRUE(windows[0].regions.empty());
  EXPECT_EQ(windows[1].patches, (Numbers{7, 4, 11, 8}));
  EXPECT_EQ(windows[1].regions, (Numbers{1, 2, 1, 2}));
  EXPECT_EQ(windows[3].patches, (Numbers{15, 12, 3, 0}));
  EXPECT_EQ(windows[3].regions, (Numbers{4, 5, 7, 8}));
}

/// 3 × 3 patches are padded to 4 × 4 before the windows start later.
TEST(PatchWindows, LeavePaddingInTheMiddleOfAWrappedWindow) {
  const std::vector<PatchWindow> windows =
      patch_windows({.rows = 3, .cols = 3}, {.size = 2, .shift = 1, .wrapped = -100});
  EXPECT_EQ(windows[1].patches, (Numbers{3, 6}));
  EXPECT_EQ(windows[1].places, (Numbers{1, 3, 0, 2}));
  EXPECT_EQ(windows[1].regions, (Numbers{2, 2, 1, 1}));
  EXPECT_EQ(windows[1].grid, (PatchGrid{.rows = 2, .cols = 1}));
}

TEST(PatchWindows, MakeAMapOfTheImage) {
  const std::vector<PatchWindow> windows = patch_windows({.rows = 2, .cols = 1}, {.size = 1});
  Matrix<float> first(1, 1), second(1, 1);
  first(0, 0) = 0.25F;
  second(0, 0) = 0.75F;
  const std::vector<MatrixView<const float>> maps = {first.view(), second.view()};
  const Matrix<float> map = map_of_image(windows, maps);
  EXPECT_EQ(map(0, 0), 0.25F);
  EXPECT_EQ(map(1, 1), 0.75F);
  EXPECT_EQ(map(0, 1), 0.0F);
}

TEST(PatchMerging, ConcatenatesColumnByColumn) {
  const PatchGrid grid{.rows = 3, .cols = 2};
  Matrix<float> states(6, 1);
  for (std::int64_t row = 0; row < 6; ++row) states(row, 0) = static_cast<float>(row + 1);
  EXPECT_EQ(merged_grid(grid), (PatchGrid{.rows = 2, .cols = 1}));
  Matrix<float> out(2, 4);
  concatenate_neighbors(grid, states.view(), out.view());
  const std::vector<float> wanted = {1, 3, 2, 4, 5, 0, 6, 0};
  EXPECT_EQ(std::vector<float>(out.data(), out.data() + 8), wanted);
}

}  // namespace
}  // namespace attnscope
