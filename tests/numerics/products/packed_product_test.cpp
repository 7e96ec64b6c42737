#include "attnscope/numerics/products/packed_product.h"

#include <gtest/gtest.h>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

TEST(PackedProduct, EqualsTheProductForEveryShapeAndLayout) {
  const struct Shape {
    std::int64_t m, n, k;
  } shapes[] = {{1, 1, 1}, {3, 5, 2}, {24, 24, 24}, {25, 47, 257}, {200, 7, 300}, {8, 120, 1}};
  for (const Shape& shape : shapes) {
    const std::int64_t m = shape.m;
    const std::int64_t n = shape.n;
    const std::int64_t k = shape.k;
    const Matrix<double> a = integer_matrix(m, k, /*limit=*/99, /*seed=*/1);
    const Matrix<double> b = integer_matrix(n, k, /*limit=*/99, /*seed=*/2);
    const Matrix<double> b_transposed = integer_matrix(k, n, /*limit=*/99, /*seed=*/3);
    const auto expect_product = [&](MatrixView<const double> other) {
      const Matrix<double> wanted = naive_product(a.view(), other.transposed());
      const Matrix<double> found = multiply_transposed(PackedMatrix(a.view()), PackedMatrix(other));
      ASSERT_EQ(found.rows(), m);
      ASSERT_EQ(found.cols(), n);
      for (std::int64_t row = 0; row < m; ++row) {
        for (std::int64_t col = 0; col < n; ++col) {
          EXPECT_EQ(found(row, col), wanted(row, col)) << m << " " << n << " " << k;
        }
      }
    };
    expect_product(b.view());
    expect_product(b_transposed.view().transposed());
  }
}

}  // namespace
}  // namespace attnscope
