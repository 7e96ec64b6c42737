// Fallback solvers: the next one runs if the previous one does not converge.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/expect_error.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

SingularValueSolver failing_solver(std::string_view name) {
  return {name, [](MatrixView<const double>) { return std::nullopt; }};
}

SingularValueSolver answering_solver(std::string_view name, double answer) {
  return {name, [answer](MatrixView<const double>) { return std::vector<double>{answer}; }};
}

TEST(SolveOneByOne, ReturnsTheFirstThatConvergesAndItsName) {
  const Matrix<double> matrix = identity_matrix(1, 1);
  const std::vector<SingularValueSolver> second = {
      failing_solver("first"), answering_solver("second", 2), answering_solver("third", 3)};
  const SingularValues got = solve_one_by_one(second, matrix.view(), test_compute());
  EXPECT_EQ(got.values, std::vector<double>{2});
  EXPECT_EQ(got.fallback, "second");

  const std::vector<SingularValueSolver> first = {answering_solver("first", 1), second[1]};
  EXPECT_EQ(solve_one_by_one(first, matrix.view(), test_compute()).fallback, "first");
}

TEST(SolveOneByOne, FallsBackFromDgesddToDgesvd) {
  const Matrix<double> matrix = gaussian_matrix(9, 14, /*seed=*/6);
  const std::vector<SingularValueSolver> solvers = {failing_solver("dgesdd"),
                                                    fallback_solvers()[1]};
  const SingularValues got = solve_one_by_one(solvers, matrix.view(), test_compute());
  EXPECT_EQ(got.fallback, "dgesvd");
  expect_all(got.values, matrix.view(), reference_values(matrix.view()));
}

TEST(SolveOneByOne, FailsAsNumericalIfNoneConverges) {
  const Matrix<double> matrix = identity_matrix(2, 3);
  for (const std::size_t count : {0, 1, 2}) {
    const std::vector<SingularValueSolver> solvers(count, failing_solver("never"));
    EXPECT_ERROR_SAYING(ErrorKind::numerical,
                        solve_one_by_one(solvers, matrix.view(), test_compute()), "2 x 3");
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
      // Both are backward stable on the matrix itself: an error of c (m + n) ε σ_1 for every value.
      const double rounding = 2 * static_cast<double>(rows + cols) * kEpsilon * one.front();
      for (std::size_t index = 0; index < one.size(); ++index) {
        EXPECT_NEAR(one[index], other[index], rounding);
      }
      // They also accept strided views.
      const auto turned = fallback_solvers()[1].solve(matrix.view().transposed()).value();
      for (std::size_t index = 0; index < one.size(); ++index) {
        EXPECT_NEAR(one[index], turned[index], rounding);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
