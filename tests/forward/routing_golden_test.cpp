// Selected experts and weights in every layer for 200 tokens, compared with transformers. Expected
// values: tools/golden_forward.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "tests/support/golden_variants.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<Variant> routed_variants() {
  std::vector<Variant> out;
  for (const Variant& variant : all_variants()) {
    if (variant.has_routing) out.push_back(variant);
  }
  return out;
}

class RoutingGolden : public testing::TestWithParam<Variant> {};

/// Experts and weights of one token, sorted by expert, because transformers does not define an
/// order.
using Choice = std::vector<std::pair<std::int64_t, float>>;

TEST_P(RoutingGolden, EqualsTransformers) {
  const Model model = model_of(GetParam());
  const GoldenTensors expected = routing_of(GetParam());
  const std::vector<TokenIds> inputs = {ids_of(*expected.find("tokens"))};
  const CheckpointTensor& experts = *expected.find("experts");
  const std::vector<float> weights = values_of(*expected.find("weights"));
  const auto layers = experts.view.shape[0], rows = experts.view.shape[1];
  const auto chosen = static_cast<std::size_t>(experts.view.shape[2]);
  ASSERT_EQ(rows, std::ssize(inputs[0]));

  std::size_t layer = 0;
  const ForwardObserver observer{.on_routing = [&](const LayerRouting& routing) {
    ASSERT_LT(std::exchange(layer, layer + 1), static_cast<std::size_t>(layers));
    ASSERT_EQ(routing.chosen, static_cast<std::int64_t>(chosen));
    ASSERT_EQ(routing.logits.rows, rows);
    const std::size_t before = (layer - 1) * static_cast<std::size_t>(rows) * chosen;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      Choice got, wanted;
      for (std::size_t at = row * chosen; at < (row + 1) * chosen; ++at) {
        got.emplace_back(routing.experts[at], routing.weights[at]);
        wanted.emplace_back(std::to_integer<std::int64_t>(experts.view.bytes[before + at]),
                            weights[before + at]);
      }
      std::sort(got.begin(), got.end());
      std::sort(wanted.begin(), wanted.end());
      for (std::size_t at = 0; at < chosen; ++at) {
        ASSERT_EQ(got[at].first, wanted[at].first) << "layer " << routing.layer << ", row " << row;
        // The tolerance is for weights up to 2.5, and for logits with the tolerance of hidden
        // states.
        ASSERT_NEAR(got[at].second, wanted[at].second, 1e-4)
            << "layer " << routing.layer << ", row " << row;
      }
    }
  }};
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  pass.run(inputs, observer, {});
  EXPECT_EQ(layer, static_cast<std::size_t>(layers));
}

INSTANTIATE_TEST_SUITE_P(Cases, RoutingGolden, testing::ValuesIn(routed_variants()), name_of_case);

}  // namespace
}  // namespace attnscope
