// Many small matrices at once, compared with LAPACK's dgesdd on each.
#include "attnscope/numerics/svd/batched_singular_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attnscope/numerics/products/gram.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

template <class T>
std::vector<MatrixView<const T>> batch_views(const std::vector<Matrix<T>>& matrices) {
  std::vector<MatrixView<const T>> views;
  for (const Matrix<T>& matrix : matrices) views.push_back(matrix.view());
  return views;
}

template <class T>
void check_all(const std::vector<Matrix<T>>& matrices) {
  const auto order = static_cast<std::size_t>(matrices.front().rows());
  std::vector<double> values(matrices.size() * order, -1.0);
  small_singular_values(batch_views(matrices), values.data(), test_compute());
  for (std::size_t index = 0; index < matrices.size(); ++index) {
    SCOPED_TRACE("matrix " + std::to_string(index) + " of " + std::to_string(matrices.size()) +
                 ", order " + std::to_string(order));
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * order);
    const Matrix<double> exact = converted<double>(matrices[index]);
    expect_all({first, first + static_cast<std::ptrdiff_t>(order)}, exact.view(),
               reference_values(exact.view()));
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Sets the elements above the diagonal to zero.
template <class T>
Matrix<T> lower_part(Matrix<T> matrix) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = row + 1; col < matrix.cols(); ++col) matrix(row, col) = 0;
  }
  return matrix;
}

TEST(BatchedSingularValues, AgreeWithDgesddForEveryOrderAndKind) {
  for (const std::int64_t order :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 99, 100, 101, 127, 128, 129}) {
    // Different kinds share one group of lanes.
    std::vector<Matrix<double>> whole, lower;
    std::vector<Matrix<float>> whole_float32;
    for (const MatrixKind& kind : matrix_kinds()) {
      whole.push_back(converted<double>(kind.make(order, order, 7)));
      whole_float32.push_back(converted<float>(kind.make(order, order, 8)));
      lower.push_back(lower_part(converted<double>(kind.make(order, order, 9))));
    }
    check_all(whole);
    check_all(whole_float32);
    check_all(lower);
    if (HasFatalFailure()) return;
  }
}

TEST(BatchedSingularValues, DoNotDependOnTheirNeighbors) {
  constexpr std::int64_t kOrder = 37;
  std::vector<Matrix<double>> matrices;
  for (std::uint64_t seed = 0; seed < 19; ++seed) {
    matrices.push_back(gaussian_matrix(kOrder, kOrder, seed));
  }
  const auto views = batch_views(matrices);
  std::vector<double> together(matrices.size() * kOrder), alone(kOrder);
  small_singular_values(views, together.data(), test_compute());
  for (std::size_t index = 0; index < views.size(); ++index) {
    small_singular_values({&views[index], 1}, alone.data(), test_compute());
    const std::vector<double> own(
        together.begin() + static_cast<std::ptrdiff_t>(index * kOrder),
        together.begin() + static_cast<std::ptrdiff_t>((index + 1) * kOrder));
    EXPECT_EQ(own, alone) << index;
  }
}

TEST(BatchedSingularValues, TransposedViewsHaveTheSameValues) {
  const Matrix<double> matrix = gaussian_matrix(24, 24, 5);
  const MatrixView<const double> views[] = {matrix.view(), matrix.view().transposed()};
  std::vector<double> values(48);
  small_singular_values(views, values.data(), test_compute());
  for (std::size_t at = 0; at < 24; ++at)
    EXPECT_NEAR(values[at], values[24 + at], 1e-12 * values[0]);
}

TEST(BatchedSingularValues, AcceptNoMatrices) {
  small_singular_values(std::span<const MatrixView<const float>>(), nullptr, test_compute());
  EXPECT_TRUE(
      singular_values_of_each(std::span<const MatrixView<const double>>(), test_compute()).empty());
}

TEST(BatchedSingularValues, SupportHeadsOfEveryShape) {
  for (const auto& [rows, cols] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {64, 768}, {768, 64}, {1, 50}, {24, 24}, {128, 300}, {130, 200}, {300, 40}}) {
    std::vector<Matrix<double>> matrices;
    for (const MatrixKind& kind : matrix_kinds()) {
      matrices.push_back(converted<double>(kind.make(rows, cols, 11)));
    }
    const auto results = singular_values_of_each(batch_views(matrices), test_compute());
    ASSERT_EQ(results.size(), matrices.size());
    for (std::size_t index = 0; index < matrices.size(); ++index) {
      SCOPED_TRACE(trace(matrix_kinds()[index].name, rows, cols));
      const auto* found = std::get_if<SingularValues>(&results[index]);
      ASSERT_NE(found, nullptr);
      expect_all(found->values, matrices[index].view(), reference_values(matrices[index].view()));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BatchedSingularValues, ReportWhichNormOverflows) {
  std::vector<Matrix<double>> matrices;
  matrices.push_back(gaussian_matrix(8, 20, 1));
  matrices.push_back(Matrix<double>(8, 20));
  std::fill_n(matrices.back().data(), 160, 1e308);
  const auto results = singular_values_of_each(batch_views(matrices), test_compute());
  EXPECT_TRUE(std::holds_alternative<SingularValues>(results[0]));
  EXPECT_TRUE(std::holds_alternative<Error>(results[1]));
}

}  // namespace
}  // namespace attnscope
