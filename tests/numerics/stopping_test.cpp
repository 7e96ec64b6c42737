// Computations end soon after a stop request, at any time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/factored_product_batch.h"
#include "attnscope/numerics/svd/batched_singular_values.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"
#include "tests/support/time_limit.h"

namespace attnscope {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A user waits at most 1 s. These matrices are smaller than typical ones.
constexpr double kMaxSeconds = 0.5;

class Stopping : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "LAPACK cannot be stopped";
  }

  /// Stops `work` at moments spread over its total run time.
  static void expect_to_stop(const std::function<void(const Compute&)>& work) {
    auto start = Clock::now();
    work(test_compute());
    const double whole = seconds_since(start);
    for (const double share : {0.0, 0.2, 0.45, 0.7, 0.85}) {
      std::stop_source source;
      std::optional<GivenTime> asked;
      std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::duration<double>(share * whole));
        asked.emplace(getpid());
        source.request_stop();
      });
      if (share == 0) stopper.join();
      bool stopped = false;
      try {
        work(test_compute(nullptr, source.get_token()));
      } catch (const Stopped&) {
        stopped = true;
      }
      if (stopper.joinable()) stopper.join();
      EXPECT_TRUE(stopped || share > 0);
      if (!stopped) continue;
      EXPECT_LT(asked->seconds(), kMaxSeconds) << share << " of " << whole << " s";
    }
  }
};

TEST_F(Stopping, StopsTheGramMatrixInFloat32) {
  const auto matrix = converted<float>(gaussian_matrix(1400, 4200, 1));
  expect_to_stop([&](const Compute& compute) { singular_values(matrix.view(), compute); });
}

TEST_F(Stopping, StopsTheGramMatrixInFloat64) {
  const Matrix<double> matrix = gaussian_matrix(1400, 2800, 2);
  expect_to_stop([&](const Compute& compute) { singular_values(matrix.view(), compute); });
}

TEST_F(Stopping, StopsTheBidiagonalReduction) {
  const auto matrix = converted<float>(gaussian_matrix(1800, 1800, 3));
  expect_to_stop([&](const Compute& compute) { singular_values(matrix.view(), compute); });
}

TEST_F(Stopping, StopsManySmallMatrices) {
  const auto matrix = converted<float>(gaussian_matrix(128, 128, 4));
  const std::vector<MatrixView<const float>> maps(2000, std::as_const(matrix).view());
  std::vector<double> values(maps.size() * 128);
  expect_to_stop(
      [&](const Compute& compute) { small_singular_values(maps, values.data(), compute); });
  const auto head = converted<float>(gaussian_matrix(128, 1024, 5));
  const std::vector<MatrixView<const float>> heads(500, std::as_const(head).view());
  expect_to_stop([&](const Compute& compute) { singular_values_of_each(heads, compute); });
}

TEST_F(Stopping, StopsProductsOfThinFactors) {
  const Matrix<double> left = gaussian_matrix(1400, 1400, 6),
                       right = gaussian_matrix(1400, 1400, 7);
  // One product that is formed, and many that are not.
  const std::vector<FactorPair> whole = {{left.view(), right.view()}};
  expect_to_stop(
      [&](const Compute& compute) { factored_products_singular_values(whole, compute); });
  std::vector<FactorPair> heads;
  for (std::int64_t head = 0; head < 200; ++head) {
    heads.push_back(
        {left.view().row_block(head % 10 * 128, 128), right.view().row_block(head % 9 * 128, 128)});
  }
  expect_to_stop(
      [&](const Compute& compute) { factored_products_singular_values(heads, compute); });
}

TEST_F(Stopping, AStopReachesTheThreadsOfATeam) {
  const auto matrix = converted<float>(gaussian_matrix(1000, 1700, 8));
  LentTeam lent(2);
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(singular_values(matrix.view(), test_compute(&lent.team(), source.get_token())),
               Stopped);
  const std::vector<double> after = singular_values(matrix.view(), lent.compute()).values;
  EXPECT_EQ(after, singular_values(matrix.view(), test_compute()).values);
}

}  // namespace
}  // namespace attnscope
