#include "attnscope/numerics/vector_loops.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace attnscope {
namespace {

template <class T>
class AllFinite : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(AllFinite, Types);

TYPED_TEST(AllFinite, AcceptsExtremesAndDetectsNanAndInfinity) {
  using Limits = std::numeric_limits<TypeParam>;
  Matrix<TypeParam> matrix(3, 37);
  const TypeParam extremes[] = {
      0, -TypeParam{0}, Limits::max(), Limits::lowest(), Limits::denorm_min(), Limits::min()};
  for (std::int64_t at = 0; at < 3 * 37; ++at) matrix(at / 37, at % 37) = extremes[at % 6];
  const auto view = std::as_const(matrix).view();
  const MatrixView<const TypeParam> apart = {matrix.data(), 1, 36, 37 * 3, 3};
  EXPECT_TRUE(all_finite(view));
  EXPECT_TRUE(all_finite(view.transposed()));
  EXPECT_TRUE(all_finite(apart));
  for (const TypeParam wrong : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                                -Limits::quiet_NaN(), Limits::signaling_NaN()}) {
    for (const std::int64_t at : {0, 36, 105, 110}) {
      const TypeParam kept = std::exchange(matrix(at / 37, at % 37), wrong);
      EXPECT_FALSE(all_finite(view));
      EXPECT_FALSE(all_finite(view.transposed()));
      EXPECT_EQ(all_finite(apart), at % 3 != 0 || at > 105);
      matrix(at / 37, at % 37) = kept;
    }
  }
}

}  // namespace
}  // namespace attnscope
