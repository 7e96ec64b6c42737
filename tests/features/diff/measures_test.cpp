#include "attnscope/features/diff/measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "attnscope/numerics/svd/eigenvectors.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using test::gaussian_matrix;
using test::identity_matrix;
using test::naive_product;

/// Orthonormal rows. Any subset of them spans a random subspace.
Matrix<double> random_rotation(std::int64_t width, std::uint64_t seed) {
  return directions_of(gaussian_matrix(width, width, seed).view()).left;
}

/// An angle is computed from its cosine, so an error of a few 2^-53 changes it by 1e-6 degrees near
/// 0.
constexpr double kDegrees = 1e-5;

TEST(SubspaceOverlap, IsTheMeanSquaredCosineOfKnownAngles) {
  // e1, e2, e3 compared with e1 and e2, rotated out of the subspace, and e6. Cosines: cos(a),
  // cos(b), and 0.
  const double a = 0.3, b = 1.1;
  Matrix<double> turned = test::zero_matrix(3, 6);
  turned(0, 0) = std::cos(a);
  turned(0, 3) = std::sin(a);
  turned(1, 1) = std::cos(b);
  turned(1, 4) = std::sin(b);
  turned(2, 5) = 1;
  const SubspaceOverlap found =
      subspace_overlap(identity_matrix(3, 6).view(), std::as_const(turned).view());
  EXPECT_NEAR(found.share, (std::pow(std::cos(a), 2) + std::pow(std::cos(b), 2)) / 3, 1e-15);
  EXPECT_NEAR(found.angle, a * 180 / std::numbers::pi, 1e-12);
  EXPECT_EQ(found.null, 0.5);
}

TEST(SubspaceOverlap, IsOneForASubspaceOfALargerSpace) {
  const Matrix<double> all = random_rotation(12, 1), mix = random_rotation(5, 2);
  const auto large = all.view().row_block(0, 5);
  const Matrix<double> small = naive_product(mix.view().row_block(0, 2), large);
  for (const auto& [one, other] :
       {std::pair(small.view(), large), std::pair(large, small.view())}) {
    const SubspaceOverlap found = subspace_overlap(one, other);
    EXPECT_NEAR(found.share, 1, 1e-14);
    EXPECT_NEAR(found.angle, 0, kDegrees);
    EXPECT_EQ(found.null, 5.0 / 12);
  }
}

TEST(SubspaceOverlap, DoesNotDependOnTheBases) {
  const Matrix<double> first = random_rotation(9, 3), second = random_rotation(9, 4);
  const auto one = first.view().row_block(0, 3), other = second.view().row_block(0, 4);
  const Matrix<double> turned = naive_product(random_rotation(4, 5).view(), other);
  const SubspaceOverlap found = subspace_overlap(one, other);
  const SubspaceOverlap again = subspace_overlap(one, turned.view());
  EXPECT_NEAR(found.share, again.share, 1e-14);
  EXPECT_NEAR(found.angle, again.angle, 1e-10);
}

TEST(SubspaceOverlap, IsZeroForOrthogonalSpaces) {
  const Matrix<double> all = random_rotation(7, 6);
  const SubspaceOverlap found =
      subspace_overlap(all.view().row_block(0, 3), all.view().row_block(3, 4));
  EXPECT_NEAR(found.share, 0, 1e-28);
  EXPECT_NEAR(found.angle, 90, 1e-12);
}

TEST(SubspaceOverlap, IsCloseToItsBaselineForRandomSpaces) {
  // A mean over 3 · 12 squared cosines with variance 2 / 40² each, and over 50 draws.
  double sum = 0;
  constexpr int kDraws = 50;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Matrix<double> first = random_rotation(40, 100 + draw);
    const Matrix<double> second = random_rotation(40, 200 + draw);
    const SubspaceOverlap found =
        subspace_overlap(first.view().row_block(0, 3), second.view().row_block(0, 12));
    EXPECT_EQ(found.null, 12.0 / 40);
    sum += found.share;
  }
  const double deviation = std::sqrt(2.0 * 3 * 12) / 40 / 3 / std::sqrt(double{kDraws});
  EXPECT_NEAR(sum / kDraws, 12.0 / 40, 4 * deviation);
}

}  // namespace
}  // namespace attnscope
