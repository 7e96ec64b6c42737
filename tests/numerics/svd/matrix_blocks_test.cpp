// A matrix that is read block by block gives the same bytes as one in memory.
#include "attnscope/numerics/svd/matrix_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// Blocks of a matrix in memory, with the size of the largest block that was read.
template <class T>
struct Counted {
  const Matrix<T>& matrix;
  std::atomic<std::int64_t> elements = 0;

  MatrixBlocks<T> blocks() {
    return {matrix.rows(), matrix.cols(),
            [this](std::int64_t first_row, std::int64_t first_col, MatrixView<T> out) {
              elements += out.rows * out.cols;
              for (std::int64_t row = 0; row < out.rows; ++row) {
                for (std::int64_t col = 0; col < out.cols; ++col) {
                  out(row, col) = matrix(first_row + row, first_col + col);
                }
              }
            }};
  }
};

template <class T>
void expect_the_same(std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
  const auto matrix = converted<T>(gaussian_matrix(rows, cols, 1));
  Counted<T> source{matrix};
  const MatrixBlocks<T> blocks = source.blocks();
  LentTeam lent(2);
  for (const Compute& compute : {test_compute(), lent.compute()}) {
    const BlockExtent extent = extent_of(blocks, compute);
    ASSERT_FALSE(extent.not_finite);
    EXPECT_EQ(singular_values(blocks, extent.largest_magnitude, compute).values,
              singular_values(matrix.view(), test_compute()).values);
  }
}

TEST(MatrixBlocks, GiveTheSameBytesForEverySolver) {
  for (const bool tall : {false, true}) {
    const auto of = [&](std::int64_t shorter, std::int64_t longer) {
      const std::int64_t rows = tall ? longer : shorter, cols = tall ? shorter : longer;
      expect_the_same<float>(rows, cols);
      expect_the_same<double>(rows, cols);
    };
    of(0, 5);
    of(1, 7);
    of(1, 3000);
    of(20, 2100);   // LAPACK's eigenvalues
    of(64, 1024);   // one block
    of(200, 1025);  // a second block of one column
    of(400, 2500);  // float32: summed in float32
    of(300, 300);
  }
  if (test_compute().kernels.available()) expect_the_same<float>(1210, 1200);  // read completely
}

TEST(MatrixBlocks, FallBackToFloat64LikeTheWholeMatrix) {
  // One large row next to small ones: float32 sums are not accurate enough.
  auto matrix = converted<float>(gaussian_matrix(400, 1500, 2));
  for (std::int64_t col = 0; col < 1500; ++col) matrix(7, col) *= 1e6F;
  Counted<float> source{std::as_const(matrix)};
  const MatrixBlocks<float> blocks = source.blocks();
  const double largest = extent_of(blocks, test_compute()).largest_magnitude;
  EXPECT_EQ(singular_values(blocks, largest, test_compute()).values,
            singular_values(std::as_const(matrix).view(), test_compute()).values);
}

TEST(MatrixBlocks, ReportTheFirstElementWithNanOrInf) {
  for (const bool tall : {false, true}) {
    const std::int64_t rows = tall ? 5000 : 300, cols = tall ? 300 : 5000;
    auto matrix = converted<float>(gaussian_matrix(rows, cols, 3));
    matrix(200, 20) = std::numeric_limits<float>::infinity();
    matrix(100, 290) = std::numeric_limits<float>::quiet_NaN();
    matrix(100, 295) = -std::numeric_limits<float>::infinity();
    matrix(299, 0) = std::numeric_limits<float>::quiet_NaN();
    Counted<float> source{std::as_const(matrix)};
    const BlockExtent extent = extent_of(source.blocks(), test_compute());
    ASSERT_TRUE(extent.not_finite);
    EXPECT_EQ(extent.not_finite->row, 100);
    EXPECT_EQ(extent.not_finite->col, 290);
  }
}

TEST(MatrixBlocks, NeedLessMemoryThanTheWholeMatrix) {
  // A gate matrix of Llama-3-8B takes 235 MB in float32.
  EXPECT_LT(singular_values_bytes<float>(14336, 4096), std::uint64_t{180} << 20);
  EXPECT_GE(singular_values_bytes<float>(14336, 4096), std::uint64_t{8} * 4096 * 4096 / 2);
}

TEST(MatrixBlocks, StopBetweenBlocks) {
  const auto matrix = converted<float>(gaussian_matrix(400, 3000, 4));
  Counted<float> source{matrix};
  std::stop_source stop;
  stop.request_stop();
  const Compute stopped = test_compute(nullptr, stop.get_token());
  EXPECT_THROW(extent_of(source.blocks(), stopped), Stopped);
  EXPECT_THROW(singular_values(source.blocks(), 1, stopped), Stopped);
  EXPECT_EQ(source.elements, 0);
}

}  // namespace
}  // namespace attnscope
