// Singular values against LAPACK's dgesdd on the matrix itself, and against planted values.
#include "attnscope/numerics/singular_values/singular_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/core/error.h"
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

Matrix<double> scaled_by_power_of_two(const Matrix<double>& matrix, int exponent) {
  Matrix<double> out = converted<double>(matrix);
  for (std::int64_t index = 0; index < out.rows() * out.cols(); ++index) {
    out.data()[index] = std::ldexp(out.data()[index], exponent);
  }
  return out;
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
      // 14 kinds, 70 columns: one more per row, or a shape's neighbours above would share its kind.
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
  // 24 rows a tile, 192 a part of the Gram matrix, 1152 until a sweep has several parts; float32
  // kinds of 1536 and more may take another way.
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

TEST(SingularValues, OfOneRowOrColumnAreItsLength) {
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

TEST(SingularValues, DoNotDependOnHowTheLongSideIsCutIntoBlocks) {
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

TEST(SingularValues, OfAnEmptyMatrixAreNone) {
  EXPECT_TRUE(values_of(Matrix<double>(0, 5)).empty());
  EXPECT_TRUE(values_of(Matrix<float>(5, 0)).empty());
}

// The eigenvalue solver changes at order 1500.
TEST(SingularValues, RecoverPlantedOnesOnBothSidesOfTheThresholdOfTheReduction) {
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

  // Everything outside the views is infinite: one element read too many would show.
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
    // The same elements on the same short side: not a bit may differ.
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

TEST(SingularValues, OfHeadsInsideAProjection) {
  const Matrix<double> projection = gaussian_matrix(96, 64, /*seed=*/8);
  for (std::int64_t head = 0; head < 4; ++head) {
    for (const MatrixView<const double> slice :
         {projection.view().row_block(24 * head, 24), projection.view().col_block(16 * head, 16)}) {
      expect_all(singular_values(slice, test_compute()).values, slice, reference_values(slice));
    }
  }
}

// ---- Known answers ------------------------------------------------------------------------------

TEST(SingularValues, RecoverPlantedOnes) {
  for (const auto& [rows, cols] : {std::pair{60, 60}, {60, 45}, {45, 60}, {200, 30}}) {
    SCOPED_TRACE(trace("planted", rows, cols));
    for (const double last : {1.0, 1e-3, 1e-7}) {
      const std::vector<double> planted = geometric_values(std::min(rows, cols), last);
      const Matrix<double> matrix = matrix_with_singular_values(rows, cols, planted, /*seed=*/2);
      expect_all(values_of(matrix), matrix.view(), planted);
    }
  }
}

TEST(SingularValues, OfAHadamardMatrixAreAllTheRootOfItsOrder) {
  for (const std::int64_t order : {1, 2, 4, 32, 64, 256}) {
    const std::vector<double> expected(static_cast<std::size_t>(order),
                                       std::sqrt(static_cast<double>(order)));
    const Matrix<double> matrix = hadamard_matrix(order, order);
    expect_all(values_of(matrix), matrix.view(), expected);
  }
}

TEST(SingularValues, OfAZeroMatrixAreExactlyZero) {
  const std::vector<double> got = values_of(zero_matrix(12, 30));
  EXPECT_EQ(got, std::vector<double>(12, 0.0));
}

// One value holds half of all energy, or nearly all of it: the thresholds then fall into a bulk
// whose values are small beside σ_1, where an error of 1e-6 σ_1 in each would move the ranks.
TEST(SingularValues, KeepEnergyRanksUnderAHugeFirstValue) {
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

// Far beyond the range of float32: nothing may overflow, and a power of two may change no digit.
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

TEST(SingularValues, OfDenormalElements) {
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

TEST(SingularValues, FailAsNumericalWhereTheFirstOverflows) {
  Matrix<double> matrix = identity_matrix(2, 3);
  std::fill_n(matrix.data(), 6, std::numeric_limits<double>::max());
  EXPECT_ERROR_SAYING(ErrorKind::numerical, values_of(matrix), "2 x 3", "overflows");
  // One such element alone is its own singular value.
  std::fill_n(matrix.data() + 1, 5, 0.0);
  EXPECT_EQ(values_of(matrix)[0], std::numeric_limits<double>::max());
}

// ---- Solvers in turn ----------------------------------------------------------------------------

SingularValueSolver failing_solver(std::string_view name) {
  return {name, [](MatrixView<const double>) { return std::nullopt; }};
}

SingularValueSolver answering_solver(std::string_view name, double answer) {
  return {name, [answer](MatrixView<const double>) { return std::vector<double>{answer}; }};
}

TEST(SolveInTurn, TakesTheFirstThatConvergesAndNamesIt) {
  const Matrix<double> matrix = identity_matrix(1, 1);
  const std::vector<SingularValueSolver> second = {
      failing_solver("first"), answering_solver("second", 2), answering_solver("third", 3)};
  const SingularValues got = solve_in_turn(second, matrix.view(), test_compute());
  EXPECT_EQ(got.values, std::vector<double>{2});
  EXPECT_EQ(got.fallback, "second");

  const std::vector<SingularValueSolver> first = {answering_solver("first", 1), second[1]};
  EXPECT_EQ(solve_in_turn(first, matrix.view(), test_compute()).fallback, "first");
}

TEST(SolveInTurn, FallsBackFromDgesddToDgesvd) {
  const Matrix<double> matrix = gaussian_matrix(9, 14, /*seed=*/6);
  const std::vector<SingularValueSolver> solvers = {failing_solver("dgesdd"),
                                                    fallback_solvers()[1]};
  const SingularValues got = solve_in_turn(solvers, matrix.view(), test_compute());
  EXPECT_EQ(got.fallback, "dgesvd");
  expect_all(got.values, matrix.view(), reference_values(matrix.view()));
}

TEST(SolveInTurn, FailsAsNumericalWhereNoneConverges) {
  const Matrix<double> matrix = identity_matrix(2, 3);
  for (const std::size_t count : {0, 1, 2}) {
    const std::vector<SingularValueSolver> solvers(count, failing_solver("never"));
    EXPECT_ERROR_SAYING(ErrorKind::numerical, solve_in_turn(solvers, matrix.view(), test_compute()),
                        "2 x 3");
  }
}

TEST(FallbackSolvers, AreDgesddThenDgesvdAndAgree) {
  ASSERT_EQ(fallback_solvers().size(), 2);
  EXPECT_EQ(fallback_solvers()[0].name, "dgesdd");
  EXPECT_EQ(fallback_solvers()[1].name, "dgesvd");
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rows, cols] :
         {std::pair{1, 1}, {1, 20}, {20, 1}, {40, 40}, {70, 31}, {31, 70}}) {
      SCOPED_TRACE(trace(kind.name, rows, cols));
      const Matrix<double> matrix = kind.make(rows, cols, /*seed=*/13);
      const std::vector<double> one = fallback_solvers()[0].solve(matrix.view()).value();
      const std::vector<double> other = fallback_solvers()[1].solve(matrix.view()).value();
      ASSERT_EQ(one.size(), other.size());
      // Both are backward stable on the matrix itself: c (m + n) ε σ_1 for every value.
      const double rounding = 2 * static_cast<double>(rows + cols) * kEpsilon * one.front();
      for (std::size_t index = 0; index < one.size(); ++index) {
        EXPECT_NEAR(one[index], other[index], rounding);
      }
      // They also read strided views.
      const auto turned = fallback_solvers()[1].solve(matrix.view().transposed()).value();
      for (std::size_t index = 0; index < one.size(); ++index) {
        EXPECT_NEAR(one[index], turned[index], rounding);
      }
    }
  }
}

// ---- Products -----------------------------------------------------------------------------------

/// leftᵀ · right, multiplied out, through dgesdd.
void check_product(MatrixView<const double> left, MatrixView<const double> right) {
  const std::size_t rank = static_cast<std::size_t>(std::min(left.rows, left.cols));
  const std::vector<double> got = product_singular_values(left, right, test_compute()).values;
  ASSERT_EQ(got.size(), rank);
  const Matrix<double> product = naive_product(left.transposed(), right);
  const std::vector<double> expected = reference_values(product.view());

  // Multiplying out rounds by about (r + D) ε ‖left‖ ‖right‖ and so do the QR factorisations; where
  // the factors cancel that is more than ε of the product. What is left is as for one matrix.
  const double dimensions = static_cast<double>(left.rows + left.cols);
  const double factors = 2 * dimensions * kEpsilon * frobenius_norm(left) * frobenius_norm(right);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    if (index >= rank) {
      ASSERT_LE(expected[index], factors) << "more rank than possible";
      continue;
    }
    const double from_gram =
        expected[0] == 0 ? 0 : tolerance(expected[index], expected[0], dimensions);
    ASSERT_NEAR(got[index], expected[index], from_gram + factors)
        << "singular value " << index << " of " << rank << ", the first is " << expected[0];
  }
  expect_same_energy_ranks(got, {expected.begin(), expected.begin() + rank});
}

TEST(ProductSingularValues, AgreeWithTheProductMultipliedOut) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {1, 1}, {1, 12}, {12, 1}, {4, 32}, {16, 48}, {24, 24}, {32, 20}, {60, 7}, {64, 65}};
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rank, width] : kShapes) {
      SCOPED_TRACE(trace(kind.name, rank, width));
      const Matrix<double> left = kind.make(rank, width, /*seed=*/31);
      const Matrix<double> right = gaussian_matrix(rank, width, /*seed=*/32);
      check_product(left.view(), right.view());
      check_product(right.view(), left.view());
      check_product(left.view(), left.view());
    }
  }
}

TEST(ProductSingularValues, ReadHeadsInPlace) {
  const Matrix<double> rows = gaussian_matrix(48, 40, /*seed=*/41);
  const Matrix<double> columns = gaussian_matrix(40, 48, /*seed=*/42);
  for (std::int64_t head = 0; head < 4; ++head) {
    check_product(columns.view().col_block(12 * head, 12).transposed(),
                  rows.view().row_block(12 * head, 12));
  }
}

TEST(ProductSingularValues, OfAZeroFactorAreZero) {
  const Matrix<double> zero = zero_matrix(5, 18);
  const Matrix<double> other = gaussian_matrix(5, 18, /*seed=*/1);
  const std::vector<double> none(5, 0.0);
  EXPECT_EQ(product_singular_values(zero.view(), other.view(), test_compute()).values, none);
  EXPECT_EQ(product_singular_values(other.view(), zero.view(), test_compute()).values, none);
  EXPECT_EQ(product_singular_values(zero.view(), zero.view(), test_compute()).values, none);
}

// left has rank 3 and right rank 2, so the product has rank 2.
TEST(ProductSingularValues, OfRankDeficientFactors) {
  for (const auto& [rank, width] : {std::pair{8, 30}, {30, 8}, {16, 16}}) {
    const Matrix<double> left = naive_product(gaussian_matrix(rank, 3, /*seed=*/51).view(),
                                              gaussian_matrix(3, width, /*seed=*/52).view());
    const Matrix<double> right = naive_product(gaussian_matrix(rank, 2, /*seed=*/53).view(),
                                               gaussian_matrix(2, width, /*seed=*/54).view());
    check_product(left.view(), right.view());
    const std::vector<double> got =
        product_singular_values(left.view(), right.view(), test_compute()).values;
    EXPECT_GT(got[1], 1e-3 * got[0]);
    EXPECT_LT(got[2], kErrorLimit * got[0]);
  }
}

// (M A)ᵀ (M⁻ᵀ B) = Aᵀ B: what M blows up in one factor it takes away in the other.
TEST(ProductSingularValues, OfFactorsThatCancel) {
  constexpr std::int64_t kRank = 16, kWidth = 40;
  const Matrix<double> left = gaussian_matrix(kRank, kWidth, /*seed=*/61);
  const Matrix<double> right = gaussian_matrix(kRank, kWidth, /*seed=*/62);
  // U D V with the same orthogonal U, V (same seed) and D or D⁻¹: M⁻ᵀ = U D⁻¹ V.
  const std::vector<double> stretch = geometric_values(kRank, 1e-4);
  std::vector<double> shrink = stretch;
  for (double& value : shrink) value = 1 / value;
  const Matrix<double> m = matrix_with_singular_values(kRank, kRank, stretch, /*seed=*/63);
  const Matrix<double> m_inverse_transposed =
      matrix_with_singular_values(kRank, kRank, shrink, /*seed=*/63);
  const Matrix<double> blown = naive_product(m.view(), left.view());
  const Matrix<double> shrunk = naive_product(m_inverse_transposed.view(), right.view());
  check_product(blown.view(), shrunk.view());

  const std::vector<double> expected =
      product_singular_values(left.view(), right.view(), test_compute()).values;
  const std::vector<double> got =
      product_singular_values(blown.view(), shrunk.view(), test_compute()).values;
  // cond(M) ε for the rounding of the factors, times their size.
  const double rounding = (kRank + kWidth) * 1e4 * kEpsilon * frobenius_norm(left.view()) *
                          frobenius_norm(right.view());
  for (std::size_t index = 0; index < got.size(); ++index) {
    EXPECT_NEAR(got[index], expected[index], rounding);
  }
}

TEST(ProductSingularValues, OfHugeAndTinyFactors) {
  const Matrix<double> left = gaussian_matrix(6, 20, /*seed=*/71);
  const Matrix<double> right = gaussian_matrix(6, 20, /*seed=*/72);
  const std::vector<double> plain =
      product_singular_values(left.view(), right.view(), test_compute()).values;
  const double rounding =
      2 * (6 + 20) * kEpsilon * frobenius_norm(left.view()) * frobenius_norm(right.view());
  for (const auto& [left_exponent, right_exponent] :
       {std::pair{100, 100}, {-149, -149}, {100, -149}, {500, 500}, {-400, -400}}) {
    const Matrix<double> scaled_left = scaled_by_power_of_two(left, left_exponent);
    const Matrix<double> scaled_right = scaled_by_power_of_two(right, right_exponent);
    const std::vector<double> got =
        product_singular_values(scaled_left.view(), scaled_right.view(), test_compute()).values;
    for (std::size_t index = 0; index < got.size(); ++index) {
      const int exponent = left_exponent + right_exponent;
      EXPECT_NEAR(got[index], std::ldexp(plain[index], exponent), std::ldexp(rounding, exponent));
    }
  }
}

TEST(ProductSingularValues, FailAsNumericalWhereTheProductOverflows) {
  const Matrix<double> factor =
      scaled_by_power_of_two(gaussian_matrix(6, 20, /*seed=*/71), /*exponent=*/600);
  EXPECT_ERROR_SAYING(ErrorKind::numerical,
                      product_singular_values(factor.view(), factor.view(), test_compute()),
                      "20 x 20", "overflows");
}

}  // namespace
}  // namespace attnscope
