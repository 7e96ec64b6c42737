// One matrix on several threads: every part once, and the same bytes as alone.
#include "attnscope/numerics/parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "attnscope/numerics/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// Threads that are lent while it lives.
class Lenders {
 public:
  explicit Lenders(int count) {
    for (int index = 0; index < count; ++index) {
      threads_.emplace_back([this] { lend_thread([this] { return over_.load(); }); });
    }
  }
  ~Lenders() {
    over_ = true;
    recall_lent_threads();
  }

 private:
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> threads_;
};

TEST(Parts, EachRunsOnce) {
  for (const int lent : {0, 1, 3}) {
    const Lenders lenders(lent);
    for (const std::size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      run_parts(count, [&](std::size_t part) { ++runs[part]; });
      for (const auto& number : runs) ASSERT_EQ(number, 1);
    }
  }
}

TEST(Parts, WhatAPartThrowsIsThrown) {
  for (const int lent : {0, 2}) {
    const Lenders lenders(lent);
    EXPECT_THROW(run_parts(100,
                           [](std::size_t part) {
                             if (part == 40) throw std::runtime_error("forty");
                           }),
                 std::runtime_error);
    std::atomic<int> after = 0;
    run_parts(10, [&](std::size_t) { ++after; });
    EXPECT_EQ(after, 10);
  }
}

TEST(Parts, SeveralLeadersShareTheLentThreads) {
  const Lenders lenders(2);
  std::vector<std::jthread> leaders;
  std::atomic<int> runs = 0;
  for (int leader = 0; leader < 4; ++leader) {
    leaders.emplace_back([&] {
      for (int round = 0; round < 200; ++round) run_parts(5, [&](std::size_t) { ++runs; });
    });
  }
  leaders.clear();  // joins
  EXPECT_EQ(runs, 4 * 200 * 5);
}

TEST(Parts, SingularValuesAreTheSameBytesWithHelp) {
  const Matrix<double> matrix = gaussian_matrix(1300, 1310, 3);
  const std::vector<double> alone = singular_values(matrix.view()).values;
  for (const int lent : {1, 3}) {
    const Lenders lenders(lent);
    EXPECT_EQ(singular_values(matrix.view()).values, alone) << lent;
  }
}

}  // namespace
}  // namespace attnscope
