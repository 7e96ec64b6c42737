// One matrix on several threads: every part runs once, and the bytes equal those of one thread.

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

TEST(Team, EachPartRunsOnce) {
  for (const int lent : {0, 1, 3}) {
    LentTeam lent_team(lent);
    for (const std::size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      lent_team.team().run(count, [&](std::size_t part) { ++runs[part]; });
      for (const auto& number : runs) ASSERT_EQ(number, 1);
    }
  }
}

TEST(Team, RethrowsExceptionsOfParts) {
  for (const int lent : {0, 2}) {
    LentTeam lent_team(lent);
    EXPECT_THROW(lent_team.team().run(100,
                                      [](std::size_t part) {
                                        if (part == 40) throw std::runtime_error("forty");
                                      }),
                 std::runtime_error);
    std::atomic<int> after = 0;
    lent_team.team().run(10, [&](std::size_t) { ++after; });
    EXPECT_EQ(after, 10);
  }
}

TEST(Team, SeveralLeadersShareTheLentThreads) {
  LentTeam lent_team(2);
  std::vector<std::jthread> leaders;
  std::atomic<int> runs = 0;
  for (int leader = 0; leader < 4; ++leader) {
    leaders.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        lent_team.team().run(5, [&](std::size_t) { ++runs; });
    });
  }
  leaders.clear();  // joins the threads
  EXPECT_EQ(runs, 4 * 200 * 5);
}

TEST(Team, SingularValuesHaveTheSameBytesWithHelp) {
  const Matrix<double> matrix = gaussian_matrix(1300, 1310, 3);
  const std::vector<double> alone = singular_values(matrix.view(), test_compute()).values;
  for (const int lent : {1, 3}) {
    LentTeam lent_team(lent);
    EXPECT_EQ(singular_values(matrix.view(), lent_team.compute()).values, alone) << lent;
  }
}

}  // namespace
}  // namespace attnscope
