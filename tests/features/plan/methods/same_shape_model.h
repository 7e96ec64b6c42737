// Shared by tests that compare a smaller model with a model of the original shape. In the latter,
// the removed part was truncated in place (plain_low_rank_fit.h), so both give the same logits.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/plan/methods/methods.h"
#include "tests/features/common/calibration/plain_low_rank_fit.h"

namespace attnscope::test {

/// 128 tokens: more than the number of inputs of any matrix in these models.
inline std::vector<TokenIds> fitted_windows(const Model& model) {
  std::vector<TokenIds> windows(8);
  std::int64_t state = 1;
  for (TokenIds& ids : windows) {
    for (int at = 0; at < 16; ++at) {
      state = (state * 1103515245 + 12345) % 2147483648;
      ids.push_back(state / 65536 % model.dimensions().vocabulary.value());
    }
  }
  return windows;
}

class InPlace : public ::testing::TestWithParam<const char*> {
 protected:
  InPlace()
      : model_(Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward" /
                           GetParam())),
        windows_(fitted_windows(model_)),
        calibration_(model_, {.windows = windows_}, /*memory_bytes=*/1 << 24, /*ridge=*/0.01),
        fitted_(calibration_.statistics(compute_)),
        plain_(model_, windows_) {
    fitted_.dtype = DType::f32;  // so that only the order of sums differs
    fitted_.work_bytes = 1 << 24;
  }

  std::int64_t layers() const { return model_.dimensions().layers; }

  Choice chosen(Method method, std::int64_t size) const {
    EXPECT_EQ(why_not(model_, method), "");
    const std::vector<std::int64_t> sizes = method->sizes(model_);
    EXPECT_TRUE(std::find(sizes.begin(), sizes.end(), size) != sizes.end());
    return choose(model_, method, size, fitted_, compute_);
  }

  Model smaller(const Choice& choice) const {
    return choice.method->make(model_, choice, fitted_, compute_).open();
  }

  /// The model with these matrices of each layer, in their original shapes.
  Model truncated_in_place(const std::function<LayerMatrices(std::int64_t layer)>& of) const {
    ChangedModel changed(model_, DType::f32);
    for (std::int64_t layer = 0; layer < layers(); ++layer) changed.set_layer(layer, of(layer));
    return changed.open();
  }

  /// Splits off the last column as the bias, if the matrix has one.
  void put_joined(LayerMatrices& into, std::int64_t layer, Role role,
                  const Matrix<double>& joined) const {
    Matrix<double> weight(joined.rows(), joined.cols() - 1);
    std::vector<double> bias;
    for (std::int64_t row = 0; row < weight.rows(); ++row) {
      std::copy_n(&joined(row, 0), weight.cols(), &weight(row, 0));
      bias.push_back(joined(row, weight.cols()));
    }
    into.weights.emplace(role, std::move(weight));
    if (!canonical_bias(model_, layer, role).empty()) into.biases.emplace(role, std::move(bias));
  }

  Matrix<float> logits_of(const Model& model) const {
    const ForwardPass pass(model, /*copy_weights=*/true, compute_);
    return pass.logits(pass.run(windows_, {}, compute_).view(), compute_);
  }

  static double difference(const Matrix<float>& a, const Matrix<float>& b) {
    EXPECT_EQ(a.rows() * a.cols(), b.rows() * b.cols());
    double most = 0;
    for (std::int64_t at = 0; at < a.rows() * a.cols(); ++at) {
      most = std::max(most, std::abs(static_cast<double>(a.data()[at]) - b.data()[at]));
    }
    return most;
  }

  /// The logits, a few units in size, may differ by 1e-4 from float32 sums in another order. The
  /// truncation must have a visible effect.
  void expect_same_logits(const Model& smaller, const Model& in_place) const {
    const Matrix<float> own = logits_of(smaller);
    EXPECT_LE(difference(own, logits_of(in_place)), 1e-4);
    EXPECT_GT(difference(own, logits_of(model_)), 1e-2);
  }

  Compute compute_ = test_compute();
  Model model_;
  std::vector<TokenIds> windows_;
  Calibration calibration_;
  TextStatistics fitted_;
  PlainText plain_;
};

}  // namespace attnscope::test
