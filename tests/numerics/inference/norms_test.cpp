#include "attnscope/numerics/inference/norms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<float> gaussian_vector(std::int64_t count, std::uint64_t seed) {
  const Matrix<float> row = converted<float>(gaussian_matrix(1, count, seed));
  return {row.data(), row.data() + count};
}

/// The definition in float64. `gain` already includes the offset.
Matrix<double> expected_norm(MatrixView<const float> x, bool center,
                             const std::vector<double>& gain, const std::vector<float>& bias,
                             double epsilon) {
  Matrix<double> out(x.rows, x.cols);
  const auto n = static_cast<double>(x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    double mean = 0, squares = 0;
    for (std::int64_t col = 0; center && col < x.cols; ++col) mean += x(row, col) / n;
    for (std::int64_t col = 0; col < x.cols; ++col) squares += std::pow(x(row, col) - mean, 2) / n;
    for (std::int64_t col = 0; col < x.cols; ++col) {
      const auto at = static_cast<std::size_t>(col);
      const double value = (x(row, col) - mean) / std::sqrt(squares + epsilon);
      out(row, col) = value * (gain.empty() ? 1 : gain[at]) +
                      (bias.empty() ? 0.0 : static_cast<double>(bias[at]));
    }
  }
  return out;
}

double largest_difference(MatrixView<const float> got, const Matrix<double>& wanted) {
  double largest = 0;
  for (std::int64_t row = 0; row < got.rows; ++row) {
    for (std::int64_t col = 0; col < got.cols; ++col) {
      largest = std::max(largest, std::abs(static_cast<double>(got(row, col)) - wanted(row, col)));
    }
  }
  return largest;
}

const std::int64_t kWidths[] = {1, 2, 3, 15, 16, 17, 64, 80, 127, 128, 130, 768, 1000};

TEST(Norms, LayerNormEqualsTheDefinition) {
  for (const std::int64_t width : kWidths) {
    for (const double mean : {0.0, 100.0}) {  // in units of standard deviations
      for (const double size : {1e-3, 1.0, 1e6}) {
        Matrix<double> exact = gaussian_matrix(70, width + 3, static_cast<std::uint64_t>(width));
        for (std::int64_t at = 0; at < 70 * (width + 3); ++at) {
          exact.data()[at] = (exact.data()[at] + mean) * size;
        }
        const Matrix<float> rows = converted<float>(exact);
        const MatrixView<const float> x = rows.view().col_block(2, width);
        for (const bool affine : {false, true}) {
          const std::vector<float> gain = affine ? gaussian_vector(width, 1) : std::vector<float>{};
          const std::vector<float> bias = affine ? gaussian_vector(width, 2) : std::vector<float>{};
          const double epsilon = 1e-5;
          Matrix<float> out(70, width);
          layer_norm(x, gain, bias, epsilon, out.view(), test_compute());
          const Matrix<double> wanted =
              expected_norm(x, true, std::vector<double>(gain.begin(), gain.end()), bias, epsilon);
          // Results are at most sqrt(hidden size), times gains up to 4, with four roundings.
          const double tolerance = 4 * 4 * 0x1p-24 * (std::sqrt(static_cast<double>(width)) + 4);
          EXPECT_LT(largest_difference(out.view(), wanted), tolerance)
              << width << " wide, mean " << mean << ", size " << size << ", affine " << affine;
        }
      }
    }
  }
}

TEST(Norms, LayerNormSupportsAGainOrABiasAlone) {
  const Matrix<float> x = converted<float>(gaussian_matrix(3, 40, 5));
  const std::vector<float> some = gaussian_vector(40, 6);
  Matrix<float> out(3, 40);
  layer_norm(x.view(), some, {}, 1e-12, out.view(), test_compute());
  EXPECT_LT(largest_difference(
                out.view(), expected_norm(x.view(), true, {some.begin(), some.end()}, {}, 1e-12)),
            2e-6);
  layer_norm(x.view(), {}, some, 1e-12, out.view(), test_compute());
  EXPECT_LT(largest_difference(out.view(), expected_norm(x.view(), true, {}, some, 1e-12)), 2e-6);
}

TEST(Norms, RmsNormEqualsTheDefinition) {
  for (const std::int64_t width : kWidths) {
    const Matrix<float> rows =
        converted<float>(gaussian_matrix(70, width + 3, static_cast<std::uint64_t>(width)));
    const MatrixView<const float> x = rows.view().col_block(2, width);
    for (const float offset : {0.0F, 1.0F}) {
      for (const bool with_gain : {false, true}) {
        const std::vector<float> gain =
            with_gain ? gaussian_vector(width, 1) : std::vector<float>{};
        std::vector<double> gains;
        for (const float g : gain) gains.push_back(static_cast<double>(offset) + g);
        Matrix<float> out(70, width);
        rms_norm(x, gain, offset, 1e-6, out.view(), test_compute());
        const double tolerance = 4 * 5 * 0x1p-24 * (std::sqrt(static_cast<double>(width)) + 4);
        EXPECT_LT(largest_difference(out.view(), expected_norm(x, false, gains, {}, 1e-6)),
                  tolerance)
            << width << " wide, offset " << offset << ", gain " << with_gain;
      }
    }
  }
}

TEST(Norms, NormalizesOneHeadInPlace) {
  const Matrix<float> before = converted<float>(gaussian_matrix(90, 3 * 20, 1));
  Matrix<float> after = converted<float>(gaussian_matrix(90, 3 * 20, 1)), separate(90, 20);
  const std::vector<float> gain = gaussian_vector(20, 2), bias = gaussian_vector(20, 3);
  const MatrixView<const float> head = before.view().col_block(20, 20);
  const MatrixView<float> in_place = after.view().col_block(20, 20);
  for (const bool center : {true, false}) {
    for (std::int64_t row = 0; row < 90; ++row) std::copy_n(&head(row, 0), 20, &in_place(row, 0));
    if (center) {
      layer_norm(head, gain, bias, 1e-5, separate.view(), test_compute());
      layer_norm(in_place, gain, bias, 1e-5, in_place, test_compute());
    } else {
      rms_norm(head, gain, 1, 1e-5, separate.view(), test_compute());
      rms_norm(in_place, gain, 1, 1e-5, in_place, test_compute());
    }
    for (std::int64_t row = 0; row < 90; ++row) {
      EXPECT_EQ(std::memcmp(&after(row, 0), &before(row, 0), 20 * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(&after(row, 20), &separate(row, 0), 20 * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(&after(row, 40), &before(row, 40), 20 * sizeof(float)), 0);
    }
  }
}

TEST(Norms, ConstantRowsBecomeZeroForAnyThreads) {
  Matrix<float> x(200, 33);
  std::fill_n(x.data(), 200 * 33, 0.1F);
  Matrix<float> out(200, 33);
  layer_norm(x.view(), {}, {}, 1e-12, out.view(), test_compute());
  // The mean of equal numbers may have one float64 rounding error; sqrt(epsilon) is 1e-6.
  for (std::int64_t at = 0; at < 200 * 33; ++at) EXPECT_NEAR(out.data()[at], 0, 1e-10);

  const Matrix<float> rows = converted<float>(gaussian_matrix(200, 33, 4));
  Matrix<float> shared(200, 33);
  layer_norm(rows.view(), {}, {}, 1e-5, out.view(), test_compute());
  LentTeam team(3);
  layer_norm(rows.view(), {}, {}, 1e-5, shared.view(), team.compute());
  EXPECT_EQ(std::memcmp(out.data(), shared.data(), 200 * 33 * sizeof(float)), 0);
}

}  // namespace
}  // namespace attnscope
