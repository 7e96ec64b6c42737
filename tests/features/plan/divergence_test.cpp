// Measures that reuse shared computations, compared with models that are built and run completely.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/removal_loss.h"
#include "attnscope/features/plan/divergence.h"
#include "attnscope/features/plan/methods/depth.h"
#include "tests/support/compute.h"

namespace attnscope::test {
namespace {

Model forward_model(const char* name) {
  return Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward" / name);
}

/// Windows of several lengths, so that a batch contains more than one.
std::vector<TokenIds> some_windows(const Model& model) {
  std::vector<TokenIds> windows;
  for (const std::int64_t length : {5, 9, 7}) {
    TokenIds& ids = windows.emplace_back();
    for (std::int64_t at = 0; at < length; ++at) {
      ids.push_back((at * at + 3 * length) % model.dimensions().vocabulary.value());
    }
  }
  return windows;
}

class Measure : public ::testing::TestWithParam<const char*> {};

TEST_P(Measure, SkippingLayersEqualsRemovingThem) {
  const Model model = forward_model(GetParam());
  const std::vector<TokenIds> windows = some_windows(model);
  const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
  ASSERT_TRUE(pass.may_start_between());
  const std::int64_t layers = model.dimensions().layers;
  std::vector<std::int64_t> all(static_cast<std::size_t>(layers));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (std::int64_t first = -1; first < std::min<std::int64_t>(layers, 3); ++first) {
    std::set<std::int64_t> gone;
    if (first >= 0) gone.insert(first);
    std::vector<std::int64_t> left = all;
    std::erase(left, first);
    if (left.size() < 2) continue;
    const auto found = mean_nll_without(pass, {.windows = windows}, gone, left, test_compute());
    for (std::size_t at = 0; at < left.size(); ++at) {
      std::vector<std::int64_t> kept = left;
      std::erase(kept, left[at]);
      const double whole =
          mean_nll(with_layers(model, kept).open(), {.windows = windows}, test_compute());
      EXPECT_NEAR(found[at], whole, 1e-6) << "without " << first << " and " << left[at];
    }
  }
}

/// Compared with models whose output projection of the component is zero, including the bias.
TEST_P(Measure, SkippingComponentsEqualsZeroingThem) {
  const Model model = forward_model(GetParam());
  const std::vector<TokenIds> windows = some_windows(model);
  const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
  const auto found = mean_nll_without_parts(pass, {.windows = windows}, test_compute());
  ASSERT_EQ(std::ssize(found), model.dimensions().layers);
  const double whole = mean_nll(model, {.windows = windows}, test_compute());
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const NllWithoutPart& own = found[static_cast<std::size_t>(layer)];
    for (const auto& [role, nll] :
         {std::pair{Role::output, own.attention}, {Role::down, own.mlp}}) {
      LayerMatrices zeros;
      Matrix<double> matrix = canonical_matrix(model, layer, role);
      std::fill_n(matrix.data(), matrix.rows() * matrix.cols(), 0.0);
      zeros.weights.emplace(role, std::move(matrix));
      const std::size_t biases = canonical_bias(model, layer, role).size();
      if (biases > 0) zeros.biases.emplace(role, std::vector<double>(biases, 0.0));
      ChangedModel changed(model);
      changed.set_layer(layer, zeros);
      const double zeroed = mean_nll(changed.open(), {.windows = windows}, test_compute());
      EXPECT_NEAR(nll, zeroed, 1e-6) << role_name(role) << " of layer " << layer;
      EXPECT_GT(std::abs(zeroed - whole), 1e-5) << "says nothing";
    }
  }
}

/// Half of a matrix is zeroed. A pass that starts at its layer is compared with a complete pass.
TEST_P(Measure, ChangesOfOneLayerRunFromThatLayer) {
  const Model model = forward_model(GetParam());
  const std::vector<TokenIds> windows = some_windows(model);
  const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
  const Divergence divergence(pass, {.windows = windows}, test_compute());
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    std::vector<ChangedModel> changed;
    for (const Role role : {Role::output, Role::down}) {
      LayerMatrices own;
      Matrix<double> matrix = canonical_matrix(model, layer, role);
      std::fill_n(matrix.data(), matrix.rows() * matrix.cols() / 2, 0.0);
      own.weights.emplace(role, std::move(matrix));
      changed.emplace_back(model).set_layer(layer, own);
    }
    std::vector<Matrix<float>> states;
    for (const ChangedModel& one : changed) {
      states.push_back(divergence.states_of(one, layer, test_compute()));
    }
    const std::vector<double> found = divergence.of(states, test_compute());
    ASSERT_EQ(found.size(), changed.size());
    for (std::size_t at = 0; at < changed.size(); ++at) {
      const Model after = changed[at].open();
      double sum = 0, rows = 0;
      for (const TokenIds& window : windows) {
        const auto logits = [&](const Model& of) {
          const ForwardPass pass(of, /*copy_weights=*/true, test_compute());
          return pass.logits(pass.run(std::span(&window, 1), {}, test_compute()).view(),
                             test_compute());
        };
        const Matrix<float> p = logits(model), q = logits(after);
        for (std::int64_t row = 0; row < p.rows(); ++row) {
          double of_p = 0, of_q = 0;
          for (std::int64_t col = 0; col < p.cols(); ++col) {
            of_p += std::exp(static_cast<double>(p(row, col)));
            of_q += std::exp(static_cast<double>(q(row, col)));
          }
          for (std::int64_t col = 0; col < p.cols(); ++col) {
            const double log_p = static_cast<double>(p(row, col)) - std::log(of_p);
            sum += std::exp(log_p) * (log_p - (static_cast<double>(q(row, col)) - std::log(of_q)));
          }
          rows += 1;
        }
      }
      EXPECT_NEAR(found[at], sum / rows, 1e-6 + 1e-3 * sum / rows) << layer;
      EXPECT_GT(found[at], 0);
    }
  }
}

/// The mean over two disjoint sets of tokens, weighted by their sizes, equals the value over both.
TEST_P(Measure, AveragesOverScoredTokensOnly) {
  const Model model = forward_model(GetParam());
  const std::vector<TokenIds> windows = some_windows(model);
  std::vector<TokenIds> both;
  for (const TokenIds& window : windows) both.emplace_back(window.size(), 1);
  std::vector<TokenIds> some = both, others = both;
  for (std::size_t window = 0; window < windows.size(); ++window) {
    for (std::size_t at = 0; at < windows[window].size(); ++at) {
      (at % 3 == window ? others : some)[window][at] = 0;
    }
  }
  const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
  LayerMatrices halved;
  Matrix<double> matrix = canonical_matrix(model, 0, Role::down);
  std::fill_n(matrix.data(), matrix.rows() * matrix.cols() / 2, 0.0);
  halved.weights.emplace(Role::down, std::move(matrix));
  ChangedModel changed(model);
  changed.set_layer(0, halved);
  const std::vector<std::int64_t> layers = {0};
  const auto measures = [&](const std::vector<TokenIds>& scored) {
    const TextWindows text = {.windows = windows, .scored = scored};
    const Divergence divergence(pass, text, test_compute());
    std::vector<Matrix<float>> states;
    states.push_back(divergence.states_of(changed, 0, test_compute()));
    return std::vector<double>{mean_nll(pass, text, test_compute()),
                               mean_nll_without(pass, text, {}, layers, test_compute())[0],
                               mean_nll_without_parts(pass, text, test_compute())[0].mlp,
                               divergence.of(states, test_compute())[0]};
  };
  const auto counted = [&](const std::vector<TokenIds>& scored) {
    return static_cast<double>(count_predicted({.windows = windows, .scored = scored}));
  };
  EXPECT_EQ(counted(some) + counted(others), counted(both));
  EXPECT_EQ(counted(both), static_cast<double>(count_predicted({.windows = windows})));
  const std::vector<double> of_some = measures(some), of_others = measures(others),
                            of_both = measures(both);
  for (std::size_t at = 0; at < of_both.size(); ++at) {
    const double mean =
        (counted(some) * of_some[at] + counted(others) * of_others[at]) / counted(both);
    EXPECT_NEAR(of_both[at], mean, 1e-6) << at;
    EXPECT_GT(std::abs(of_some[at] - of_others[at]), 1e-9) << at;
  }
  EXPECT_NEAR(of_both[0], mean_nll(pass, {.windows = windows}, test_compute()), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Models, Measure,
                         ::testing::Values("gpt2", "llama", "mistral", "gemma2", "phi"));

}  // namespace
}  // namespace attnscope::test
