// Models with a layer removed, compared with the original model run past that layer. The other
// layers must keep what depends on their index: window, rotation, and scale of scores.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/depth.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/model/config/parse_config.h"
#include "tests/support/compute.h"
#include "tests/support/golden_variants.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// The weights of a folder of tests/data/forward with another config.
Model model_with_config(const std::string& folder, const json& config) {
  Checkpoint checkpoint = Checkpoint::open(Variant{.model = folder}.folder() / "model.safetensors");
  compose_by_config(checkpoint);
  return Model(std::move(checkpoint), parse_config(config.dump(), folder));
}

std::vector<TokenIds> windows_past_layers(const Model& model) {
  std::vector<TokenIds> windows(2);
  const std::int64_t longest = ForwardPass(model, /*copy_weights=*/false, test_compute()).longest();
  for (std::int64_t at = 0; at < std::min<std::int64_t>(14, longest); ++at) {
    for (TokenIds& ids : windows) {
      ids.push_back((at * at + 5 * std::ssize(ids) + (&ids == &windows[0] ? 0 : 11)) %
                    model.dimensions().vocabulary.value());
    }
  }
  return windows;
}

double distance_of(const Matrix<float>& a, const Matrix<float>& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  double most = 0;
  for (std::int64_t at = 0; at < a.rows() * a.cols(); ++at) {
    most = std::max(most, std::abs(static_cast<double>(a.data()[at]) - b.data()[at]));
  }
  return most;
}

/// Logits when the input of the layer is passed directly to the next layer.
Matrix<float> logits_past(const ForwardPass& pass, const std::vector<TokenIds>& windows,
                          std::int64_t layer) {
  Matrix<float> entered;
  ForwardObserver observer;
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
    if (index != layer) return;
    entered = Matrix<float>(stream.rows, stream.cols);
    for (std::int64_t row = 0; row < stream.rows; ++row) {
      for (std::int64_t col = 0; col < stream.cols; ++col) entered(row, col) = stream(row, col);
    }
  };
  pass.run(windows, observer, test_compute());
  const Matrix<float> states =
      pass.run_from({.layer = layer + 1, .stream = entered.view()}, windows, {}, test_compute());
  return pass.logits(states.view(), test_compute());
}

Matrix<float> logits_without(const Model& model, const std::vector<TokenIds>& windows,
                             std::int64_t layer) {
  std::vector<std::int64_t> kept(static_cast<std::size_t>(model.dimensions().layers));
  std::iota(kept.begin(), kept.end(), std::int64_t{0});
  std::erase(kept, layer);
  const Model smaller = with_layers(model, kept, DType::f32).open();
  EXPECT_EQ(smaller.dimensions().layers, std::ssize(kept));
  const ForwardPass pass(smaller, /*copy_weights=*/true, test_compute());
  return pass.logits(pass.run(windows, {}, test_compute()).view(), test_compute());
}

/// Checks each layer that can be removed. Both models compute the same sums, except for rounding of
/// rescaled queries (2^-24).
void expect_skipped_and_removed_equal(const Model& model) {
  const std::vector<TokenIds> windows = windows_past_layers(model);
  const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    Matrix<float> without;
    try {
      without = logits_without(model, windows, layer);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what() << ", layer " << layer;
      continue;
    }
    EXPECT_LE(distance_of(logits_past(pass, windows, layer), without), 1e-5) << "layer " << layer;
  }
}

/// Models by the prefix of their folder names.
struct Folders {
  std::string name;
  std::vector<std::string> starts;

  bool has(const std::string& folder) const {
    return std::any_of(starts.begin(), starts.end(),
                       [&](const std::string& start) { return folder.starts_with(start); });
  }
};

void PrintTo(const Folders& folders, std::ostream* out) { *out << folders.name; }

/// Architectures whose layers depend on their index, and whose config sets this only by numbers.
const std::vector<Folders> kNumbered = {
    {"deberta_v2", {"deberta-v2"}},   {"glm4_moe", {"glm4_moe"}},
    {"glm_moe_dsa", {"glm_moe_dsa"}}, {"minicpm3", {"minicpm3"}},
    {"modernbert", {"modernbert"}},   {"smollm3", {"smollm3"}}};

/// All other architectures in three groups.
std::vector<Folders> parts_of_the_others() {
  std::vector<Folders> out = {{"a_to_g", {}}, {"h_to_m", {}}, {"n_to_z", {}}};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const std::size_t part = letter <= 'g' ? 0 : letter <= 'm' ? 1 : 2;
    out[part].starts.emplace_back(1, letter);
  }
  return out;
}

class WithoutALayer : public ::testing::TestWithParam<Folders> {};

/// Skips layers and models for which the method is rejected.
TEST_P(WithoutALayer, KeepsEveryOtherLayer) {
  const bool numbered = GetParam().starts.front().size() > 1;
  for (const Variant& variant : all_variants()) {
    if (!GetParam().has(variant.model)) continue;
    const bool of_numbered =
        std::any_of(kNumbered.begin(), kNumbered.end(),
                    [&](const Folders& one) { return one.has(variant.model); });
    if (of_numbered != numbered) continue;
    SCOPED_TRACE(testing::PrintToString(variant));
    const Model model = model_of(variant);
    if (!why_not(model, depth_method()).empty()) continue;
    const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
    if (!pass.may_start_between() || !pass.no_logits().empty()) continue;
    expect_skipped_and_removed_equal(model);
  }
}

INSTANTIATE_TEST_SUITE_P(Numbered, WithoutALayer, ::testing::ValuesIn(kNumbered),
                         [](const auto& folders) { return folders.param.name; });
INSTANTIATE_TEST_SUITE_P(Others, WithoutALayer, ::testing::ValuesIn(parts_of_the_others()),
                         [](const auto& folders) { return folders.param.name; });

/// The config may contain only values that differ from the defaults of its class.
TEST(DepthMethod, WritesGptNeoLayerTypesThatTheConfigOmits) {
  json config = config_of({.model = "gpt_neo"});
  config.erase("attention_layers");
  expect_skipped_and_removed_equal(model_with_config("gpt_neo", config));
  config.erase("attention_types");
  const Model model = model_with_config("gpt_neo", config);
  ASSERT_NE(model.spec().layers[0].attention.mask.reach,
            model.spec().layers[1].attention.mask.reach);
  expect_skipped_and_removed_equal(model);
}

/// GPT-Neo configs name layer types in several ways, which must agree afterwards.
TEST(DepthMethod, KeepsGptNeoLayerTypesConsistent) {
  const Model model =
      model_with_config("gpt_neo", config_of({.model = "gpt_neo", .name = "order"}));
  const ChangedModel changed = with_layers(model, {0, 2, 3});
  const json wanted = {"local", "global", "local"};
  EXPECT_EQ(json::parse(changed.config("attention_layers").value()), wanted);
  EXPECT_EQ(json::parse(changed.config("attention_types").value()), (json{{wanted, 1}}));
}

TEST(DepthMethod, KeepsListsThatAreNotPerLayer) {
  json config = config_of({.model = "llama"});
  ASSERT_EQ(config["num_hidden_layers"], 2);
  config["eos_token_id"] = {2, 5};
  const ChangedModel changed = with_layers(model_with_config("llama", config), {1});
  EXPECT_EQ(changed.config("eos_token_id"), "[2,5]");
}

/// Files may have more entries than layers. The extra entries belong to no remaining layer.
TEST(DepthMethod, CutsLayerListsThatAreLongerThanTheModel) {
  json config = config_of({.model = "qwen2", .name = "window-layers"});
  const std::int64_t layers = config["num_hidden_layers"].get<std::int64_t>();
  ASSERT_EQ(layers, 3);
  config["layer_types"] = {"full_attention", "sliding_attention", "full_attention",
                           "sliding_attention"};
  const ChangedModel changed = with_layers(model_with_config("qwen2", config), {1, 2});
  EXPECT_EQ(changed.config("layer_types"), R"(["sliding_attention","full_attention"])");
}

/// Rejected: a class whose first layer has no norm, which no other layer can become. Also rejected:
/// layers that share the indexer of an earlier layer.
TEST(DepthMethod, IsRejectedIfALayerCannotMove) {
  EXPECT_NE(why_not(model_of({.model = "modernbert"}), depth_method()), "");
  EXPECT_NE(why_not(model_of({.model = "glm_moe_dsa-selects", .name = "shared"}), depth_method()),
            "");
  EXPECT_EQ(why_not(model_of({.model = "glm_moe_dsa"}), depth_method()), "");
}

/// Only queries change, by (new index + 1) / (old index + 1).
TEST(DepthMethod, RescalesQueriesIfScoresAreDividedByTheLayerIndex) {
  const Model model =
      model_with_config("gpt2", config_of({.model = "gpt2", .name = "inverse-layer"}));
  const Model smaller = with_layers(model, {0, 2}, DType::f32).open();
  for (const Role role : {Role::query, Role::key, Role::value, Role::output}) {
    const Matrix<double> before = canonical_matrix(model, 2, role);
    const Matrix<double> after = canonical_matrix(smaller, 1, role);
    const double factor = role == Role::query ? 2.0 / 3 : 1;
    for (std::int64_t at = 0; at < before.rows() * before.cols(); ++at) {
      const double wanted = factor * before.data()[at];
      EXPECT_NEAR(after.data()[at], wanted, 1e-7 * std::abs(wanted)) << role_name(role);
    }
  }
}

}  // namespace
}  // namespace attnscope::test
