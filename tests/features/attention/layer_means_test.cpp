// Means over sequences, computed by hand, and the collapse of layers.
#include "attnscope/features/attention/layer_means.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace attnscope {
namespace {

AttentionMapMeasures map_with(std::int64_t rank, std::vector<std::int64_t> top) {
  AttentionMapMeasures map{.values = std::vector<std::optional<double>>(map_measures().size()),
                           .top_columns = top};
  map.values[map_measure_index("energy_rank")] = static_cast<double>(rank);
  map.values[map_measure_index("energy_columns")] = static_cast<double>(top.size());
  return map;
}

TEST(LayerSums, DistinguishMaximumOfMeansAndMeanOfMaxima) {
  LayerSums layer(2);
  layer.add(std::vector{map_with(1, {0}), map_with(5, {3, 1})});
  layer.add(std::vector{map_with(7, {0}), map_with(3, {3, 2})});
  const LayerMeans got = layer.means();
  EXPECT_EQ(got.heads[0].of("energy_rank").mean, 4.0);
  EXPECT_EQ(got.heads[1].of("energy_rank").mean, 4.0);
  EXPECT_EQ(got.max_rank, 4.0);            // of the means
  EXPECT_EQ(got.mean_max_rank.mean, 6.0);  // of the maxima, 5 and 7
  EXPECT_DOUBLE_EQ(got.mean_max_rank.standard_error.value(), 1.0);
  EXPECT_EQ(got.mean_energy_columns.mean, 1.5);
  EXPECT_FALSE(got.heads[0].of("first_column_share").mean);
}

TEST(LayerSums, ReportTheMostFrequentTopColumns) {
  LayerSums layer(1);
  layer.add(std::vector{map_with(1, {4, 2})});
  layer.add(std::vector{map_with(1, {2})});
  layer.add(std::vector{map_with(1, {7, 4, 9})});
  // Counts: 2 and 4 twice, 7 and 9 once. The mean number of columns is two.
  EXPECT_EQ(layer.means().heads[0].top_columns, (std::vector<std::int64_t>{2, 4}));
}

TEST(LayerSums, HaveNoMeansWithoutSequences) {
  const LayerMeans got = LayerSums(2).means();
  EXPECT_FALSE(got.max_rank);
  EXPECT_FALSE(got.mean_max_rank.mean);
  EXPECT_FALSE(got.collapsed);
  EXPECT_TRUE(got.heads[0].top_columns.empty());
}

LayerMeans layer_of(const std::vector<AttentionMapMeasures>& heads) {
  LayerSums layer(heads.size());
  layer.add(heads);
  return layer.means();
}

TEST(Collapse, NeedsRankAndEnergyColumnsNearOneInEveryHead) {
  const auto sink = map_with(1, {0}), wide = map_with(1, {0, 1, 2, 3}), rich = map_with(6, {0});
  EXPECT_TRUE(layer_of({sink, sink}).collapsed);
  EXPECT_FALSE(layer_of({sink, rich}).collapsed);
  EXPECT_FALSE(layer_of({sink, wide}).collapsed);
  EXPECT_TRUE(collapsed(1.9, 1.9));
  EXPECT_FALSE(collapsed(2, 1));
  EXPECT_FALSE(collapsed(1, 2));
}

}  // namespace
}  // namespace attnscope
