#include "attnscope/numerics/svd/eigenvectors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/numerics/products/second_moments.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope::test {
namespace {

TEST(Vectors, EigenvectorsReconstructTheMatrix) {
  const Matrix<double> a = gaussian_matrix(9, 7, 1);
  const Matrix<double> symmetric = naive_product(a.view().transposed(), a.view());
  const Eigenvectors own = eigenvectors(symmetric.view());
  for (std::int64_t row = 0; row < 7; ++row) {
    if (row > 0) {
      EXPECT_GE(own.values[row - 1], own.values[row]);
    }
    for (std::int64_t col = 0; col < 7; ++col) {
      double sum = 0;
      for (std::int64_t at = 0; at < 7; ++at) {
        sum += own.values[at] * own.vectors(at, row) * own.vectors(at, col);
      }
      // A backward error of a few n 2^-53 of the norm.
      EXPECT_NEAR(sum, symmetric(row, col), 1e-13 * own.values[0]);
    }
  }
}

TEST(Vectors, HermitianEigenvectorsReconstructTheMatrix) {
  using Complex = std::complex<double>;
  const Matrix<double> re = gaussian_matrix(4, 3, 2), im = gaussian_matrix(4, 3, 3);
  Matrix<Complex> hermitian(3, 3);
  for (int row = 0; row < 3; ++row) {
    for (int col = 0; col < 3; ++col) {
      Complex sum = 0;
      for (int at = 0; at < 4; ++at) {
        sum += Complex(re(at, row), im(at, row)) * std::conj(Complex(re(at, col), im(at, col)));
      }
      hermitian(row, col) = sum;
    }
  }
  const ComplexEigenvectors own = eigenvectors(std::as_const(hermitian).view());
  for (int row = 0; row < 3; ++row) {
    for (int col = 0; col < 3; ++col) {
      Complex sum = 0;
      for (int at = 0; at < 3; ++at) {
        sum += own.values[at] * own.vectors(at, row) * std::conj(own.vectors(at, col));
      }
      EXPECT_NEAR(std::abs(sum - hermitian(row, col)), 0, 1e-13 * own.values[0]);
    }
  }
}

TEST(Vectors, DirectionsFindKnownValuesOnBothSides) {
  const std::vector<double> planted = {5, 2, 1, 0.5};
  for (const auto& [rows, cols] : {std::pair{4, 9}, std::pair{9, 4}}) {
    const Matrix<double> matrix = matrix_with_singular_values(rows, cols, planted, 4);
    const Directions own = directions_of(matrix.view());
    ASSERT_EQ(own.squares.size(), 4u);
    Matrix<double> back = zero_matrix(rows, cols);
    for (int at = 0; at < 4; ++at) {
      EXPECT_NEAR(std::sqrt(own.squares[at]), planted[at], 1e-12);
      for (int row = 0; row < rows; ++row) {
        for (int col = 0; col < cols; ++col) {
          back(row, col) += planted[at] * own.left(at, row) * own.right(at, col);
        }
      }
    }
    for (int row = 0; row < rows; ++row) {
      for (int col = 0; col < cols; ++col) EXPECT_NEAR(back(row, col), matrix(row, col), 1e-12);
    }
  }
}

TEST(Vectors, ASquareRootTimesItselfIsTheMatrix) {
  const Matrix<double> a = gaussian_matrix(8, 5, 5);
  const Matrix<double> gram = naive_product(a.view().transposed(), a.view());
  const SymmetricRoot own = symmetric_root(gram.view());
  const Matrix<double> back = naive_product(own.root.view(), own.root.view());
  const Matrix<double> identity = naive_product(own.root.view(), own.inverse.view());
  for (int row = 0; row < 5; ++row) {
    for (int col = 0; col < 5; ++col) {
      EXPECT_NEAR(back(row, col), gram(row, col), 1e-12 * frobenius_norm(gram.view()));
      EXPECT_NEAR(identity(row, col), row == col ? 1 : 0, 1e-10);
    }
  }
}

TEST(Vectors, SolvesPositiveDefiniteSystemsAndRejectsOthers) {
  const Matrix<double> a = gaussian_matrix(8, 5, 6), x = gaussian_matrix(3, 5, 7);
  Matrix<double> gram = naive_product(a.view().transposed(), a.view());
  Matrix<double> found = naive_product(x.view(), gram.view());
  ASSERT_TRUE(solve_positive(gram, found));
  for (int row = 0; row < 3; ++row) {
    for (int col = 0; col < 5; ++col) EXPECT_NEAR(found(row, col), x(row, col), 1e-9);
  }
  Matrix<double> zeros = zero_matrix(5, 5);
  EXPECT_FALSE(solve_positive(zeros, found));
  EXPECT_NEAR(found(0, 0), x(0, 0), 1e-9);
}

TEST(SecondMoments, AreSumsOfProductsForAnyThreads) {
  const Matrix<float> a = converted<float>(gaussian_matrix(300, 290, 8));
  const Matrix<float> b = converted<float>(gaussian_matrix(300, 7, 9));
  Matrix<double> own = zero_matrix(290, 7), threaded = zero_matrix(290, 7);
  add_second_moments(a.view(), b.view(), own.view(), test_compute());
  LentTeam team(3);
  add_second_moments(a.view(), b.view(), threaded.view(), team.compute());
  for (int row = 0; row < 290; ++row) {
    for (int col = 0; col < 7; ++col) {
      double sum = 0, magnitude = 0;
      for (int at = 0; at < 300; ++at) {
        const double product = static_cast<double>(a(at, row)) * static_cast<double>(b(at, col));
        sum += product;
        magnitude += std::abs(product);
      }
      EXPECT_NEAR(own(row, col), sum, 1e-6 * magnitude);  // √128 2^-24 of the magnitudes
      EXPECT_EQ(own(row, col), threaded(row, col));
    }
  }
}

}  // namespace
}  // namespace attnscope::test
