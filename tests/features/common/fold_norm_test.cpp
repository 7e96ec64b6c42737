// Norm folding on 4 × 4 matrices, and the identities that it relies on.
#include "attnscope/features/common/fold_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// The product W x.
std::vector<double> times(const Matrix<double>& w, const std::vector<double>& x) {
  std::vector<double> out(static_cast<std::size_t>(w.rows()), 0.0);
  for (std::int64_t row = 0; row < w.rows(); ++row) {
    for (std::int64_t col = 0; col < w.cols(); ++col) {
      out[static_cast<std::size_t>(row)] += w(row, col) * x[static_cast<std::size_t>(col)];
    }
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// A LayerNorm without its bias.
std::vector<double> layer_norm(std::vector<double> x, const std::vector<double>& gain) {
  const double mean = mean_of(x);
  double squares = 0;
  for (double& value : x) {
    value -= mean;
    squares += value * value;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(x.size()));
  for (std::size_t at = 0; at < x.size(); ++at) x[at] *= gain[at] / deviation;
  return x;
}

const std::vector<double> kGain = {1.5, -0.5, 2, 0.25};
const std::vector<double> kInput = {0.3, -2, 1.7, 5};

TEST(Fold, GainScalesColumns) {
  Matrix<double> w = integer_matrix(4, 4, /*limit=*/9, /*seed=*/1);
  const Matrix<double> before = integer_matrix(4, 4, 9, 1);
  multiply_columns(w, kGain);
  for (std::int64_t row = 0; row < 4; ++row) {
    for (std::int64_t col = 0; col < 4; ++col) {
      EXPECT_EQ(w(row, col), before(row, col) * kGain[static_cast<std::size_t>(col)]);
    }
  }
}

TEST(Fold, CenteredInputMatricesGiveTheSameAfterALayerNorm) {
  Matrix<double> folded = gaussian_matrix(4, 4, 1);
  const std::vector<double> wanted = times(folded, layer_norm(kInput, kGain));
  multiply_columns(folded, kGain);
  center_rows(folded);
  const std::vector<double> unit(4, 1.0);
  const std::vector<double> found = times(folded, layer_norm(kInput, unit));
  for (std::size_t at = 0; at < 4; ++at) EXPECT_NEAR(found[at], wanted[at], 1e-14);
  for (const double sum : times(folded, unit)) EXPECT_NEAR(sum, 0, 1e-15);
}

TEST(Fold, CenteredOutputMatricesGiveTheSameAfterTheNextLayerNorm) {
  Matrix<double> w = gaussian_matrix(4, 4, 2);
  const std::vector<double> wanted = layer_norm(times(w, kInput), kGain);
  center_columns(w);
  const std::vector<double> written = times(w, kInput);
  EXPECT_NEAR(mean_of(written), 0, 1e-15);
  const std::vector<double> found = layer_norm(written, kGain);
  for (std::size_t at = 0; at < 4; ++at) EXPECT_NEAR(found[at], wanted[at], 1e-14);
}

TEST(Fold, CenteringEqualsTransformerLens) {
  // ProcessWeights.fold_layer_norm on W_Q, and center_writing_weights on W_O, for one head in
  // TransformerLens 4.3. Its blocks (d_model, d_head) and (d_head, d_model) are transposed here.
  Matrix<double> q(2, 4), o(4, 2);
  const double values[] = {1, 2, 3, 5, -1, 0, 4, 8};
  std::copy_n(values, 8, q.data());
  std::copy_n(values, 8, o.data());
  multiply_columns(q, kGain);
  center_rows(q);
  center_columns(o);
  const double wanted_q[] = {-0.4375, -2.9375, 4.0625, -0.6875, -3.625, -2.125, 5.875, -0.125};
  const double wanted_o[] = {-0.75, -1.75, 1.25, 1.25, -2.75, -3.75, 2.25, 4.25};
  for (std::int64_t at = 0; at < 8; ++at) {
    EXPECT_EQ(q.data()[at], wanted_q[at]) << at;
    EXPECT_EQ(o.data()[at], wanted_o[at]) << at;
  }
}

TEST(Fold, ABiasIsTheLastColumnOrZero) {
  const Matrix<double> w = integer_matrix(4, 4, 9, 3);
  const Matrix<double> with = with_column(w, kInput), without = with_column(w, {});
  ASSERT_EQ(with.cols(), 5);
  for (std::int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(with(row, 4), kInput[static_cast<std::size_t>(row)]);
    EXPECT_EQ(without(row, 4), 0);
    for (std::int64_t col = 0; col < 4; ++col) EXPECT_EQ(with(row, col), w(row, col));
  }
}

TEST(Fold, KeysRotateAsAdjacentPairs) {
  Matrix<double> keys = integer_matrix(8, 4, 9, 4);
  const Matrix<double> before = integer_matrix(8, 4, 9, 4);
  // The first pair rotates by π/2, the second by π.
  rotate_keys(keys.view(), /*head_dim=*/4, std::vector{std::numbers::pi / 2, std::numbers::pi},
              RotaryPairs::neighbors);
  for (const std::int64_t head : {0, 4}) {
    for (std::int64_t col = 0; col < 4; ++col) {
      EXPECT_NEAR(keys(head, col), -before(head + 1, col), 1e-14);
      EXPECT_NEAR(keys(head + 1, col), before(head, col), 1e-14);
      EXPECT_NEAR(keys(head + 2, col), -before(head + 2, col), 1e-14);
      EXPECT_NEAR(keys(head + 3, col), -before(head + 3, col), 1e-14);
    }
  }
}

TEST(Fold, KeysRotateInHalvesHeadByHead) {
  // Two heads of 4 rows. In each, rows 0 and 1 rotate by π/2, and the others do not rotate.
  Matrix<double> keys = integer_matrix(8, 4, 9, 4);
  const Matrix<double> before = integer_matrix(8, 4, 9, 4);
  rotate_keys(keys.view(), /*head_dim=*/4, std::vector{std::numbers::pi / 2}, RotaryPairs::halves);
  for (const std::int64_t head : {0, 4}) {
    for (std::int64_t col = 0; col < 4; ++col) {
      EXPECT_NEAR(keys(head, col), -before(head + 1, col), 1e-14);
      EXPECT_NEAR(keys(head + 1, col), before(head, col), 1e-14);
      EXPECT_EQ(keys(head + 2, col), before(head + 2, col));
      EXPECT_EQ(keys(head + 3, col), before(head + 3, col));
    }
  }
}

}  // namespace
}  // namespace attnscope
