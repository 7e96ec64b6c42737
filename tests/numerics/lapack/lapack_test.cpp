// Calls of BLAS and LAPACK for every shape, and errors for invalid arguments.
#include "attnscope/numerics/lapack/lapack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/numerics/products/dense_products.h"
#include "tests/support/matrices.h"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
}

namespace attnscope {
namespace {

using namespace test;

/// Captures standard output and error during its lifetime, because no library may print there.
class Silence {
 public:
  Silence() { testing::internal::CaptureStdout(); }
  ~Silence() { EXPECT_EQ(testing::internal::GetCapturedStdout(), ""); }
};

/// Views of `rows` × `cols` with the same elements and different strides.
std::vector<MatrixView<const double>> views_of(const Matrix<double>& memory, std::int64_t rows,
                                               std::int64_t cols) {
  const MatrixView<const double> all = memory.view();  // (n, n), larger than both sizes
  const MatrixView<const double> dense{memory.data(), rows, cols, cols, 1};
  const MatrixView<const double> turned{memory.data(), cols, rows, rows, 1};
  return {dense,
          turned.transposed(),
          all.block(1, rows, 2, cols),                // strided rows
          all.block(2, cols, 1, rows).transposed(),   // strided columns
          {memory.data(), rows, cols, 2 * cols, 2}};  // both strided
}

TEST(Lapack, MultipliesEveryShape) {
  const Silence silence;
  const Matrix<double> memory = integer_matrix(20, 20, 9, 1);
  const std::vector<std::int64_t> sizes = {0, 1, 2, 5, 9};
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t cols : sizes) {
      for (const std::int64_t inner : sizes) {
        for (const auto& a : views_of(memory, rows, inner)) {
          for (const auto& b : views_of(memory, cols, inner)) {
            const Matrix<double> got = multiply_transposed(a, b);
            const Matrix<double> expected = naive_product(a, b.transposed());
            ASSERT_EQ(got.rows(), rows);
            ASSERT_EQ(got.cols(), cols);
            for (std::int64_t at = 0; at < rows * cols; ++at) {
              ASSERT_EQ(got.data()[at], expected.data()[at])
                  << rows << " x " << inner << " (" << a.row_stride << ", " << a.col_stride
                  << ") by " << cols << " (" << b.row_stride << ", " << b.col_stride << ")";
            }
          }
        }
      }
    }
  }
}

TEST(Lapack, EveryRoutineAcceptsEmptyAndThinMatrices) {
  const Silence silence;
  const Matrix<double> memory = gaussian_matrix(20, 20, 2);
  const std::vector<std::int64_t> sizes = {0, 1, 2, 7};
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t cols : sizes) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      const std::int64_t least = std::min(rows, cols);
      const auto copy = [&](std::int64_t count) {
        return std::vector<double>(memory.data(), memory.data() + count);
      };
      for (const auto& view : views_of(memory, rows, cols)) {
        const Matrix<double> r = lapack::qr_r_factor(view, [] {});
        EXPECT_EQ(r.rows(), least);
        EXPECT_EQ(r.cols(), cols);
        EXPECT_EQ(lapack::row_space_basis(view, 1e-9).rows(), least);
      }
      auto a = copy(rows * cols);
      const auto values = lapack::singular_values_divide_and_conquer(rows, cols, a.data());
      EXPECT_EQ(std::ssize(values.value()), least);
      a = copy(rows * cols);
      const auto same = lapack::singular_values_qr_iteration(rows, cols, a.data());
      EXPECT_EQ(std::ssize(same.value()), least);

      std::vector<double> gram(static_cast<std::size_t>(rows * rows), 0.0);
      lapack::add_gram(rows, cols, memory.data(), lapack::Packing::rows, gram.data());
      lapack::add_gram(rows, cols, memory.data(), lapack::Packing::columns, gram.data());
      auto symmetric = gram;
      EXPECT_EQ(std::ssize(lapack::symmetric_eigenvalues(rows, symmetric.data()).value()), rows);
      auto semidefinite = gram;
      EXPECT_LE(lapack::pivoted_cholesky(rows, semidefinite.data()).l.cols(), rows);
      for (std::int64_t at = 0; at < rows; ++at)
        gram[static_cast<std::size_t>(at * (rows + 1))] += 1;
      EXPECT_TRUE(lapack::cholesky(rows, gram.data()));
      auto product = copy(rows * rows);
      lapack::multiply_by_cholesky(rows, product.data(), gram.data());
      EXPECT_EQ(std::ssize(lapack::eigenvalues(rows, product.data()).value()), rows);
    }
  }
}

TEST(Lapack, AnInvalidArgumentIsAnErrorAndPrintsNothing) {
  const Silence silence;
  double matrix[4] = {1, 0, 0, 1};
  const int order = 2, leading = 1;  // too small
  int info = 0;
  dpotrf_("L", &order, matrix, &leading, &info, 1);
  EXPECT_LT(info, 0);
  try {
    lapack::throw_if_refused();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerical);
    EXPECT_EQ(error.parts().place, "DPOTRF");
  }
  EXPECT_NO_THROW(lapack::throw_if_refused());  // reported only once
}

}  // namespace
}  // namespace attnscope
