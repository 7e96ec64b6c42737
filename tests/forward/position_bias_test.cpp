// Position-dependent terms of attention scores. Expected values are those of transformers 5.23.
#include "attnscope/forward/position_bias.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace attnscope {
namespace {

TEST(ScoreBias, AlibiSlopesEqualThoseOfTheFamily) {
  const auto expect = [](const Alibi& alibi, const std::vector<double>& powers) {
    const std::vector<float> slopes = alibi_slopes(alibi, std::ssize(powers));
    ASSERT_EQ(slopes.size(), powers.size());
    for (std::size_t head = 0; head < slopes.size(); ++head) {
      EXPECT_FLOAT_EQ(slopes[head], static_cast<float>(std::exp2(-powers[head]))) << head;
    }
  };
  const Alibi bloom, mpt{.of_larger_power = true};
  for (const Alibi& alibi : {bloom, mpt}) {
    expect(alibi, {8});
    expect(alibi, {4, 8});
    expect(alibi, {1, 2, 3, 4, 5, 6, 7, 8});
  }
  expect(bloom, {4, 8, 2});
  expect(bloom, {2, 4, 6, 8, 1, 3});
  expect(mpt, {4, 8, 2});
  expect(mpt, {2, 4, 6, 8, 1});
  expect(mpt, {2, 4, 6, 8, 1, 3});
}

TEST(ScoreBias, AlibiOfFalconIsRoundedToBfloat16) {
  const Alibi alibi{.in_bfloat16 = true};
  const std::vector<float> slopes = alibi_slopes(alibi, 71);
  for (const auto& [place, wanted] : std::vector<std::pair<std::int64_t, float>>{
           {1, 0.5703125F}, {3, 1.7109375F}, {100, 57}, {257, 146}, {259, 148}, {399, 228}}) {
    EXPECT_EQ(alibi_bias(alibi, slopes[70], place), wanted) << place;
  }
  EXPECT_EQ(alibi_bias(alibi, slopes[2], 259), 200);
  EXPECT_EQ(alibi_bias({}, 0.3F, -100), 0.3F * -100);
}

/// The distances at which a new row begins, with that row, for distances from first to last.
template <class RowOf>
std::vector<std::pair<std::int64_t, std::int64_t>> steps(std::int64_t first, std::int64_t last,
                                                         const RowOf& row_of) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t distance = first; distance <= last; ++distance) {
    const std::int64_t row = row_of(distance);
    if (found.empty() || found.back().second != row) found.emplace_back(distance, row);
  }
  return found;
}

using Steps = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(ScoreBias, BucketsEqualThoseOfT5) {
  const auto found = [](const BucketBias& buckets, bool causal) {
    return steps(-400, 400, [&](std::int64_t at) { return bucket_of(buckets, at, causal); });
  };
  EXPECT_EQ(
      found({}, /*causal=*/false),
      (Steps{{-400, 15}, {-90, 14}, {-63, 13}, {-45, 12}, {-31, 11}, {-22, 10}, {-15, 9}, {-11, 8},
             {-7, 7},    {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},   {-1, 1},  {0, 0},
             {1, 17},    {2, 18},   {3, 19},   {4, 20},   {5, 21},   {6, 22},   {7, 23},  {8, 24},
             {12, 25},   {16, 26},  {23, 27},  {32, 28},  {46, 29},  {64, 30},  {91, 31}}));
  EXPECT_EQ(found({}, /*causal=*/true),
            (Steps{{-400, 31}, {-112, 30}, {-98, 29}, {-86, 28}, {-76, 27}, {-66, 26}, {-58, 25},
                   {-51, 24},  {-45, 23},  {-39, 22}, {-34, 21}, {-30, 20}, {-26, 19}, {-23, 18},
                   {-20, 17},  {-18, 16},  {-15, 15}, {-14, 14}, {-13, 13}, {-12, 12}, {-11, 11},
                   {-10, 10},  {-9, 9},    {-8, 8},   {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},
                   {-3, 3},    {-2, 2},    {-1, 1},   {0, 0}}));
  EXPECT_EQ(found({.count = 8, .distant = 20}, /*causal=*/false),
            (Steps{{-400, 3}, {-6, 2}, {-1, 1}, {0, 0}, {1, 5}, {2, 6}, {7, 7}}));
}

TEST(ScoreBias, DisentangledRowsEqualThoseOfDeberta) {
  // Rows of keys before the query. Rows of keys after it are on the other side of `span`.
  const auto found = [](const DisentangledSpec& spec, std::int64_t first, std::int64_t last) {
    return steps(first, last, [&](std::int64_t before) {
      const std::int64_t row = disentangled_row(spec, -before) - spec.span;
      if (row < spec.span - 1) {
        EXPECT_EQ(disentangled_row(spec, before), spec.span - row);
      }
      return row;
    });
  };
  const DisentangledSpec v3{.span = 256, .buckets = 256, .distant = 512};
  EXPECT_EQ(found(v3, 125, 146), (Steps{{125, 125},
                                        {126, 126},
                                        {127, 127},
                                        {128, 128},
                                        {129, 129},
                                        {130, 130},
                                        {131, 131},
                                        {133, 132},
                                        {134, 133},
                                        {136, 134},
                                        {137, 135},
                                        {139, 136},
                                        {140, 137},
                                        {142, 138},
                                        {143, 139},
                                        {145, 140},
                                        {146, 141}}));
  EXPECT_EQ(found(v3, 500, 900), (Steps{{500, 254}, {506, 255}}));
  const DisentangledSpec narrow{.span = 6, .buckets = 6, .distant = 24};
  EXPECT_EQ(found(narrow, 0, 60), (Steps{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {9, 5}}));
  const DisentangledSpec exact{.span = 5};
  EXPECT_EQ(found(exact, 0, 60), (Steps{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}));
}

}  // namespace
}  // namespace attnscope
