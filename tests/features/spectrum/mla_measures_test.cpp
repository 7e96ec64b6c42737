#include "attnscope/features/spectrum/measures.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnscope {
namespace {

TEST(Mla, RanksScaleWithTheHiddenSize) {
  EXPECT_EQ(rank_at_share(512, 5120, 768), 77);  // 76.8
  EXPECT_EQ(rank_at_share(1536, 5120, 5120), 1536);
  EXPECT_EQ(rank_at_share(512, 5120, 4), 1);  // the minimum
}

TEST(Mla, ReportsTheEnergyOfAFourByFourMatrixAtBothRanks) {
  const std::vector<double> values = {2, 1, 1, 0};  // energies 4, 1, 1, 0 of 6
  const Record fields =
      mla_fields(values, {.rows = 4, .cols = 4}, /*rank=*/8, /*share_rank=*/2, {{0.5, 0.9}});
  EXPECT_EQ(*fields.find("max_possible_rank")->get<std::int64_t>(), 4);
  EXPECT_EQ(*fields.find("energy")->get<double>(), 1);  // above the maximum possible rank
  EXPECT_EQ(*fields.find("random_energy")->get<double>(), 1);
  EXPECT_DOUBLE_EQ(*fields.find("share_energy")->get<double>(), 5.0 / 6);
  EXPECT_GT(*fields.find("share_random_energy")->get<double>(), 0.7);
  const Record* ranks = fields.find("energy_rank")->get<Record>();
  EXPECT_EQ(*ranks->find("0.5")->get<std::int64_t>(), 1);
  EXPECT_EQ(*ranks->find("0.9")->get<std::int64_t>(), 3);
}

}  // namespace
}  // namespace attnscope
