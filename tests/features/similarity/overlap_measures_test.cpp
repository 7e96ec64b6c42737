#include "attnscope/features/similarity/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using test::gaussian_matrix;

/// Copies `from` into the rows of `to`, starting at row `first`.
void put(Matrix<double>& to, std::int64_t first, const Matrix<double>& from) {
  std::copy_n(from.data(), from.rows() * from.cols(), &to(first, 0));
}

TEST(HeadOverlap, IsOneForHeadsThatSpanTheSameSpace) {
  Matrix<double> matrix(8, 20);
  const Matrix<double> head = gaussian_matrix(4, 20, 1);
  put(matrix, 0, head);
  put(matrix, 4, test::naive_product(gaussian_matrix(4, 4, 2).view(), head.view()));
  const HeadOverlap measured = head_overlap(std::as_const(matrix).view(), 4);
  EXPECT_EQ(measured.overlap(0, 0), 1);
  EXPECT_NEAR(measured.overlap(0, 1), 1, 1e-12);
  EXPECT_EQ(measured.overlap(0, 1), measured.overlap(1, 0));
  EXPECT_EQ(measured.ranks, (std::vector<std::int64_t>{4, 4}));
}

TEST(HeadOverlap, IsTheMeanSquaredCosineOfKnownAngles) {
  // Rows e1, e2 compared with cos(t) e1 + sin(t) e3, e4: the cosines of the principal angles are
  // cos(t) and 0.
  Matrix<double> matrix = test::zero_matrix(4, 6);
  const double angle = 0.4;
  matrix(0, 0) = 2;
  matrix(1, 1) = 5;
  matrix(2, 0) = std::cos(angle);
  matrix(2, 2) = std::sin(angle);
  matrix(3, 3) = 0.1;
  const HeadOverlap measured = head_overlap(std::as_const(matrix).view(), 2);
  EXPECT_NEAR(measured.overlap(0, 1), std::cos(angle) * std::cos(angle) / 2, 1e-14);
}

TEST(HeadOverlap, RandomHeadsOverlapByHeadDimOverHiddenSize) {
  const Matrix<double> matrix = gaussian_matrix(4 * 16, 128, 9);
  const HeadOverlap measured = head_overlap(matrix.view(), 16);
  for (std::int64_t a = 0; a < 4; ++a) {
    for (std::int64_t b = 0; b < 4; ++b) {
      if (a == b) continue;
      EXPECT_NEAR(measured.overlap(a, b), 16.0 / 128.0, 0.05);
    }
  }
}

// The subspace of a low-rank head must not include directions that come from rounding.
TEST(HeadOverlap, UsesTheNumericalRankOfEachHead) {
  const std::int64_t d = 6, width = 24;
  const Matrix<double> basis = gaussian_matrix(3, width, 4);
  Matrix<double> matrix(3 * d, width);
  put(matrix, 0, test::naive_product(gaussian_matrix(d, 3, 5).view(), basis.view()));
  put(matrix, d, gaussian_matrix(d, width, 6));
  put(matrix, d, basis);  // a full-rank head that contains the row space of the first head
  put(matrix, 2 * d, test::zero_matrix(d, width));
  const HeadOverlap measured = head_overlap(std::as_const(matrix).view(), d);
  EXPECT_EQ(measured.ranks, (std::vector<std::int64_t>{3, 6, 0}));
  EXPECT_NEAR(measured.overlap(0, 1), 1, 1e-12);
  for (std::int64_t other = 0; other < 3; ++other) {
    EXPECT_TRUE(std::isnan(measured.overlap(2, other)) && std::isnan(measured.overlap(other, 2)));
  }
}

TEST(HeadOverlap, HeadsWiderThanTheHiddenSizeSpanTheWholeSpace) {
  const Matrix<double> matrix = gaussian_matrix(10, 3, 8);
  const HeadOverlap measured = head_overlap(matrix.view(), 5);
  EXPECT_EQ(measured.ranks, (std::vector<std::int64_t>{3, 3}));
  EXPECT_NEAR(measured.overlap(0, 1), 1, 1e-13);
}

TEST(HeadOverlap, SupportsOneHeadOfOneRow) {
  const Matrix<double> matrix = gaussian_matrix(1, 1, 8);
  const HeadOverlap measured = head_overlap(matrix.view(), 1);
  EXPECT_EQ(measured.overlap(0, 0), 1);
}

}  // namespace
}  // namespace attnscope
