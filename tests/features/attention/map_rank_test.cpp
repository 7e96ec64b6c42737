// Energy ranks of maps equal those of LAPACK's float64 singular values, also close to thresholds.
#include "attnscope/features/attention/map_rank.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/attention_maps.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

std::int64_t rank_of(const Matrix<float>& map, double threshold) {
  const std::vector<MatrixView<const float>> views = {map.view()};
  return map_energy_ranks(views, threshold, test_compute()).front();
}

TEST(MapRank, EqualsLapackAtAnyThreshold) {
  for (const std::int64_t tokens : {3, 40, 128, 129, 256, 390}) {
    for (const NamedMap& named : maps_of_every_kind(tokens)) {
      const Matrix<double> exact = converted<double>(named.map);
      const std::vector<double> values = fallback_solvers()[0].solve(exact.view()).value();
      std::vector<double> thresholds = {0.5, 0.9, 0.99};
      const std::vector<double> energies = cumulative_energy(values);
      const double step = energies[static_cast<std::size_t>(energy_rank(values, 0.9) - 1)];
      // A threshold missed only by rounding counts as reached. A threshold 1e-10 higher does not.
      if (step < 1 - 1e-6) thresholds.insert(thresholds.end(), {step, step - 1e-10, step + 1e-10});
      for (const double threshold : thresholds) {
        EXPECT_EQ(rank_of(named.map, threshold), energy_rank(values, threshold))
            << named.name << ", " << tokens << " at " << threshold;
      }
    }
  }
}

TEST(MapRank, IsEmptyWithoutMapsOrTokens) {
  EXPECT_TRUE(map_energy_ranks({}, 0.9).empty());
  const Matrix<float> none(0, 0);
  EXPECT_EQ(rank_of(none, 0.9), 0);
}

TEST(EnergyRankInDoubt, IsTrueWithinTheErrorOfTheThreshold) {
  const std::vector<double> values = {2, 1};  // cumulative energies 0.8, 1
  EXPECT_FALSE(energy_rank_in_doubt(values, 0.7, 1e-3));
  EXPECT_TRUE(energy_rank_in_doubt(values, 0.8005, 1e-3));
  EXPECT_TRUE(energy_rank_in_doubt(values, 0.7995, 1e-3));
  EXPECT_FALSE(energy_rank_in_doubt(values, 0.802, 1e-3));
  EXPECT_FALSE(energy_rank_in_doubt({}, 0.5, 1e-3));
}

}  // namespace
}  // namespace attnscope
