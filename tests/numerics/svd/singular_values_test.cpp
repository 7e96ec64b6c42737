// Singular values, compared with LAPACK's dgesdd on the matrix itself, and with known values.
#include "attnscope/numerics/svd/singular_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/expect_error.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

template <class T>
std::vector<double> values_of(const Matrix<T>& matrix) {
  return singular_values(matrix.view(), test_compute()).values;
}

template <class T>
void check_against_reference(const MatrixKind& kind, std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(trace(kind.name, rows, cols));
  const auto seed = static_cast<std::uint64_t>(1000 * rows + cols);
  const Matrix<T> matrix = converted<T>(kind.make(rows, cols, seed));
  const SingularValues got = singular_values(matrix.view(), test_compute());
  EXPECT_TRUE(got.fallback.empty());
  const Matrix<double> exact = converted<double>(matrix);
  expect_all(got.values, exact.view(), reference_values(exact.view()));
}

// ---- Shapes -------------------------------------------------------------------------------------

TEST(SingularValues, AgreeWithDgesddForEveryShapeUpTo70) {
  std::size_t turn = 0;
  for (std::int64_t rows = 1; rows <= 70; ++rows) {
    for (std::int64_t cols = 1; cols <= 70; ++cols, ++turn) {
      // 14 kinds, 70 columns: shifted by one per row, so that neighboring shapes have different
      // kinds.
      const MatrixKind& kind =
          matrix_kinds()[(turn + static_cast<std::size_t>(rows)) % matrix_kinds().size()];
      if (rows % 2 == 0) {
        check_against_reference<double>(kind, rows, cols);
      } else {
        check_against_reference<float>(kind, rows, cols);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SingularValues, AgreeWithDgesddForEveryKind) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {2, 2}, {3, 3}, {8, 8}, {64, 64}, {70, 33}, {33, 70}, {64, 768}, {96, 16}};
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rows, cols] : kShapes) {
      check_against_reference<double>(kind, rows, cols);
      check_against_reference<float>(kind, rows, cols);
    }
  }
}

TEST(SingularValues, AgreeWithDgesddAroundTheSizesOfTilesAndParts) {
  // 24 rows per tile, 192 per part of the Gram matrix, 1152 until a sweep has several parts.
  // float32 kinds of 1536 and more may use another method.
  for (const std::int64_t size : {71, 72, 73, 95, 97, 191, 192, 193, 383, 385}) {
    for (const MatrixKind& kind : matrix_kinds()) {
      check_against_reference<double>(kind, size, size);
      check_against_reference<float>(kind, size, size + 40);
      if (HasFatalFailure()) return;
    }
  }
  for (const std::int64_t size : {1151, 1153}) {
    check_against_reference<float>(matrix_kinds()[static_cast<std::size_t>(size) % 2], size, size);
  }
}

TEST(SingularValues, OneRowOrColumnGivesItsNorm) {
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const std::int64_t size : {1, 2, 3, 255, 256, 257, 1000, 5003}) {
      SCOPED_TRACE(trace(kind.name, 1, size));
      const Matrix<double> row = kind.make(1, size, /*seed=*/3);
      const double length = frobenius_norm(row.view());
      const double rounding = static_cast<double>(size) * kEpsilon * length;
      for (const MatrixView<const double> view : {row.view(), row.view().transposed()}) {
        const std::vector<double> got = singular_values(view, test_compute()).values;
        ASSERT_EQ(got.size(), 1);
        EXPECT_NEAR(got[0], length, rounding);
      }
    }
  }
}

TEST(SingularValues, DoNotDependOnTheBlocksOfTheLongSide) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {255, 255}, {256, 256}, {257, 257}, {300, 257}, {257, 300}, {17, 255},
      {17, 256},  {257, 17},  {17, 511},  {512, 17},  {17, 513},  {300, 17}};
  std::size_t turn = 0;
  for (const auto& [rows, cols] : kShapes) {
    const bool thin = std::min(rows, cols) < 100;
    for (std::size_t count = 0; count < (thin ? matrix_kinds().size() : 3); ++count, ++turn) {
      const MatrixKind& kind = matrix_kinds()[turn % matrix_kinds().size()];
      check_against_reference<double>(kind, rows, cols);
      check_against_reference<float>(kind, rows, cols);
    }
  }
}

TEST(SingularValues, AreEmptyForAnEmptyMatrix) {
  EXPECT_TRUE(values_of(Matrix<double>(0, 5)).empty());
  EXPECT_TRUE(values_of(Matrix<float>(5, 0)).empty());
}

// The eigenvalue solver changes at order 1500.
TEST(SingularValues, RecoverKnownValuesAroundTheReductionThreshold) {
  std::vector<double> decaying = geometric_values(1199, 1e-7);
  std::vector<double> deficient = geometric_values(1200, 1e-3);
  std::fill(deficient.begin() + 600, deficient.end(), 0.0);
  std::vector<double> spiked(1201, 1.0);
  spiked.front() = 1e3;
  for (const std::vector<double>& planted : {decaying, deficient, spiked}) {
    const std::int64_t rows = std::ssize(planted);
    const std::int64_t cols = rows == 1199 ? 1199 : 1200;
    SCOPED_TRACE(trace("planted", rows, cols));
    const std::vector<double> expected(planted.begin(), planted.begin() + std::min(rows, cols));
    const Matrix<double> matrix = matrix_with_singular_values(rows, cols, expected, /*seed=*/11);
    expect_all(values_of(matrix), matrix.view(), expected);
  }
}

// ---- Views and element types --------------------------------------------------------------------

template <class T>
void check_views(std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(trace("views", rows, cols));
  const Matrix<T> plain = converted<T>(gaussian_matrix(rows, cols, /*seed=*/5));
  const Matrix<double> exact = converted<double>(plain);
  const std::vector<double> expected = reference_values(exact.view());

  // Everything outside the views is infinite, so reading one element too many would be visible.
  const T infinite = std::numeric_limits<T>::infinity();
  const std::int64_t wide = 3 * cols + 5;
  std::vector<T> spread(static_cast<std::size_t>((2 * rows + 1) * wide), infinite);
  std::vector<T> turned(static_cast<std::size_t>((cols + 1) * (rows + 4)), infinite);
  const MatrixView<T> strided = {spread.data() + wide + 2, rows, cols, 2 * wide, 3};
  const MatrixView<T> columns = {turned.data() + 3, rows, cols, 1, rows + 4};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      strided(row, col) = columns(row, col) = plain(row, col);
    }
  }
  for (const MatrixView<const T> view :
       {plain.view(), MatrixView<const T>(strided), MatrixView<const T>(columns)}) {
    expect_all(singular_values(view, test_compute()).values, exact.view(), expected);
    // The same elements on the same short side: the results must be bit-identical.
    if (rows != cols) {
      EXPECT_EQ(singular_values(view, test_compute()).values,
                singular_values(view.transposed(), test_compute()).values);
    }
  }
}

TEST(SingularValues, ReadAnyView) {
  for (const auto& [rows, cols] : {std::pair{1, 9}, {9, 1}, {7, 7}, {40, 300}, {300, 40}}) {
    check_views<float>(rows, cols);
    check_views<double>(rows, cols);
  }
}

TEST(SingularValues, ReadHeadsInsideAProjection) {
  const Matrix<double> projection = gaussian_matrix(96, 64, /*seed=*/8);
  for (std::int64_t head = 0; head < 4; ++head) {
    for (const MatrixView<const double> slice :
         {projection.view().row_block(24 * head, 24), projection.view().col_block(16 * head, 16)}) {
      expect_all(singular_values(slice, test_compute()).values, slice, reference_values(slice));
    }
  }
}

// ---- Known values -------------------------------------------------------------------------------

TEST(SingularValues, RecoverKnownValues) {
  for (const auto& [rows, cols] : {std::pair{60, 60}, {60, 45}, {45, 60}, {200, 30}}) {
    SCOPED_TRACE(trace("planted", rows, cols));
    for (const double last : {1.0, 1e-3, 1e-7}) {
      const std::vector<double> planted = geometric_values(std::min(rows, cols), last);
      const Matrix<double> matrix = matrix_with_singular_values(rows, cols, planted, /*seed=*/2);
      expect_all(values_of(matrix), matrix.view(), planted);
    }
  }
}

TEST(SingularValues, AHadamardMatrixGivesTheRootOfItsOrder) {
  for (const std::int64_t order : {1, 2, 4, 32, 64, 256}) {
    const std::vector<double> expected(static_cast<std::size_t>(order),
                                       std::sqrt(static_cast<double>(order)));
    const Matrix<double> matrix = hadamard_matrix(order, order);
    expect_all(values_of(matrix), matrix.view(), expected);
  }
}

TEST(SingularValues, AreExactlyZeroForAZeroMatrix) {
  const std::vector<double> got = values_of(zero_matrix(12, 30));
  EXPECT_EQ(got, std::vector<double>(12, 0.0));
}

// One value has half of the energy, or nearly all of it. The thresholds then fall into a bulk of
// values much smaller than σ_1, whose ranks an error of 1e-6 σ_1 per value would change.
TEST(SingularValues, KeepEnergyRanksBelowAHugeFirstValue) {
  constexpr std::int64_t kSize = 300;
  for (const double share_of_bulk : {0.5, 1e-2, 1e-4}) {
    std::vector<double> planted(kSize);
    double bulk = 0;
    for (std::size_t index = 1; index < planted.size(); ++index) {
      planted[index] = 1 - 0.5 * static_cast<double>(index) / kSize;
      bulk += planted[index] * planted[index];
    }
    planted[0] = std::sqrt(bulk * (1 - share_of_bulk) / share_of_bulk);
    const Matrix<double> matrix = matrix_with_singular_values(kSize, kSize, planted, /*seed=*/21);
    const std::vector<double> got = values_of(matrix);
    expect_all(got, matrix.view(), planted);

    const std::vector<double> got_energy = plain_cumulative_energy(got);
    const std::vector<double> planted_energy = plain_cumulative_energy(planted);
    for (std::size_t rank = 1; rank < planted.size(); ++rank) {
      const double between =
          (planted_energy[rank - 1] + planted_energy[std::min(rank, planted.size() - 1)]) / 2;
      ASSERT_EQ(plain_energy_rank(got_energy, between), rank + 1);
    }
  }
}

// Far beyond the range of float32: nothing may overflow, and a power of two must not change any
// digit.
TEST(SingularValues, ScaleExactlyWithPowersOfTwo) {
  const Matrix<double> matrix = gaussian_matrix(20, 31, /*seed=*/4);
  const std::vector<double> plain = values_of(matrix);
  for (const int exponent : {-1000, -600, -149, -1, 1, 100, 600, 1000}) {
    const std::vector<double> got = values_of(scaled_by_power_of_two(matrix, exponent));
    for (std::size_t index = 0; index < plain.size(); ++index) {
      EXPECT_EQ(got[index], std::ldexp(plain[index], exponent)) << "2^" << exponent;
    }
  }
}

TEST(SingularValues, SupportSubnormalElements) {
  Matrix<double> doubles = identity_matrix(3, 4);
  Matrix<float> floats = converted<float>(doubles);
  for (std::int64_t index = 0; index < 3; ++index) {
    doubles(index, index) = std::numeric_limits<double>::denorm_min() * (index == 1 ? 4 : 1);
    floats(index, index) = std::numeric_limits<float>::denorm_min() * (index == 1 ? 4.0f : 1.0f);
  }
  const SingularValues got = singular_values(std::as_const(doubles).view(), test_compute());
  EXPECT_EQ(got.values, (std::vector<double>{0x1p-1072, 0x1p-1074, 0x1p-1074}));
  EXPECT_TRUE(got.fallback.empty()) << "something overflowed on the way";
  EXPECT_EQ(values_of(floats), (std::vector<double>{0x1p-147, 0x1p-149, 0x1p-149}));
}

TEST(SingularValues, FailAsNumericalIfTheFirstOverflows) {
  Matrix<double> matrix = identity_matrix(2, 3);
  std::fill_n(matrix.data(), 6, std::numeric_limits<double>::max());
  EXPECT_ERROR_SAYING(ErrorKind::numerical, values_of(matrix), "2 x 3", "overflows");
  // A single such element is its own singular value.
  std::fill_n(matrix.data() + 1, 5, 0.0);
  EXPECT_EQ(values_of(matrix)[0], std::numeric_limits<double>::max());
}

}  // namespace
}  // namespace attnscope
