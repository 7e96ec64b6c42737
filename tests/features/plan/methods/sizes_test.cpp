// Every method that an architecture supports, for every golden model: the compressed model opens,
// runs, and has the predicted size.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/rank_sensitivity.h"
#include "tests/support/compute.h"
#include "tests/support/golden_variants.h"

namespace attnscope::test {
namespace {

std::vector<TokenIds> windows_to_fit(const Model& model) {
  const std::int64_t longest = ForwardPass(model, /*copy_weights=*/false, test_compute()).longest();
  std::vector<TokenIds> windows(4);
  std::int64_t state = 1;
  for (TokenIds& ids : windows) {
    for (std::int64_t at = 0; at < std::min<std::int64_t>(12, longest); ++at) {
      state = (state * 1103515245 + 12345) % 2147483648;
      ids.push_back(state / 65536 % model.dimensions().vocabulary.value());
    }
  }
  return windows;
}

/// The choice of about half of the original size.
Choice half_of(const Model& model, Method method, const TextStatistics& text,
               const Compute& compute) {
  if (method->allocates_ranks()) {
    Choice choice{.method = method};
    for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
      for (const Role role : ranked_matrices(model, layer, {})) choice.ranks[{layer, role}] = 1;
    }
    return choice;
  }
  const std::vector<std::int64_t> sizes = method->sizes(model);
  const std::int64_t size = sizes[sizes.size() / 2];
  if (method->makes_latents) {
    const std::int64_t rotary = size / 4 * 2;
    return {.method = method, .size = rotary, .joint = size - rotary};
  }
  if (method->rows == PlanRows::removal) {
    Choice choice{.method = method, .size = size, .kept = {{}}};
    for (std::int64_t layer = 0; layer < size; ++layer) choice.kept.front().push_back(layer);
    return choice;
  }
  return choose(model, method, size, text, compute);
}

void expect_made_as_planned(const Model& model, Method method) {
  const Compute compute = test_compute();
  const std::vector<TokenIds> windows = windows_to_fit(model);
  Calibration calibration(model, {.windows = windows}, 1 << 26, /*ridge=*/0.01);
  TextStatistics text = calibration.statistics(compute);
  text.work_bytes = 1 << 26;
  const Choice choice = half_of(model, method, text, compute);
  const ModelSize planned = size_after(model, size_of(model), choice);
  const Model made = choice.method->make(model, choice, text, compute).open();
  if (!method->allocates_ranks()) {
    EXPECT_EQ(size_of(made).parameters, planned.parameters);
    EXPECT_DOUBLE_EQ(size_of(made).flops_per_token, planned.flops_per_token);
  }
  EXPECT_EQ(size_of(made).kv_cache_bytes_per_token, planned.kv_cache_bytes_per_token);
  const ForwardPass pass(made, /*copy_weights=*/true, compute);
  const Matrix<float> states = pass.run(windows, {}, compute);
  EXPECT_TRUE(std::all_of(states.data(), states.data() + states.rows() * states.cols(),
                          [](float value) { return std::isfinite(value); }));
}

class SizesOfMethods : public ::testing::TestWithParam<Method> {};

TEST_P(SizesOfMethods, EqualThoseOfTheCompressedModels) {
  int models = 0;
  for (const Variant& variant : all_variants()) {
    if (!variant.name.empty() || !variant.spelling.empty()) continue;
    const Model model = model_of(variant);
    if (!why_not(model, GetParam()).empty()) continue;
    // A model that a layout describes can be planned, but not written.
    if (nlohmann::json::parse(model.spec().text).contains("schema")) continue;
    SCOPED_TRACE(variant.model);
    try {
      expect_made_as_planned(model, GetParam());
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    ++models;
  }
  EXPECT_GE(models, 10);
}

INSTANTIATE_TEST_SUITE_P(Methods, SizesOfMethods, ::testing::ValuesIn(methods()),
                         [](const auto& method) {
                           std::string name(method.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
