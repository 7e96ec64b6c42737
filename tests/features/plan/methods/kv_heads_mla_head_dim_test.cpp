// Merged key/value heads, smaller heads and MLA latents, compared with models of the original shape
// in which keys and values are truncated by the definition (same_shape_model.h).
#include <numeric>

#include "tests/features/plan/methods/plain_rope.h"
#include "tests/features/plan/methods/same_shape_model.h"

namespace attnscope::test {
namespace {

class KvHeadsInPlace : public InPlace {};

/// In both heads, keys are truncated to what one head can represent at each frequency. Values are
/// truncated to as many elements as one head has. Queries and W_O are unchanged.
TEST_P(KvHeadsInPlace, EqualsTheModelWithTheKeysAndValuesOfOneHead) {
  const HeadShape& heads = model_.dimensions().heads;
  const Model made = smaller(chosen(find_method("kv-heads"), 1));
  EXPECT_EQ(made.dimensions().heads.kv_heads, 1);
  const Model in_place = truncated_in_place([&](std::int64_t layer) {
    const Numbers one_of_each(static_cast<std::size_t>(heads.head_dim / 2), 1);
    LayerMatrices own;
    put_joined(own, layer, Role::key, plainly_kept_keys(plain_, layer, one_of_each));
    put_joined(own, layer, Role::value,
               plainly_narrowed_values(plain_, layer, /*merged=*/2, heads.value_dim));
    return own;
  });
  expect_same_logits(made, in_place);
}

INSTANTIATE_TEST_SUITE_P(Models, KvHeadsInPlace, ::testing::Values("llama", "qwen2", "phi3"));

class HeadDimInPlace : public InPlace {
 protected:
  /// The rotary pairs with the largest Σ E|q|² E|k|² over heads and layers.
  Numbers strongest_pairs(std::int64_t count) const {
    const HeadShape& heads = model_.dimensions().heads;
    const std::int64_t half = heads.head_dim / 2;
    std::vector<double> energy(static_cast<std::size_t>(half), 0.0);
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      const Matrix<double> moments = plain_.attention_moments(layer);
      const auto squares = [&](Role role) {
        const Matrix<double> matrix = plain_.joined(layer, role);
        return mean_outer(matrix.view(), moments, matrix.view());
      };
      const Matrix<double> query = squares(Role::query), key = squares(Role::key);
      const auto of_pair = [&](const Matrix<double>& of, std::int64_t head, std::int64_t pair) {
        const std::int64_t real = head * heads.head_dim + pair, other = real + half;
        return of(real, real) + of(other, other);
      };
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        for (std::int64_t pair = 0; pair < half; ++pair) {
          energy[static_cast<std::size_t>(pair)] +=
              of_pair(query, head, pair) * of_pair(key, heads.kv_head(head), pair);
        }
      }
    }
    std::vector<double> sorted = energy;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    Numbers out;
    for (std::int64_t pair = 0; pair < half; ++pair) {
      const bool stays =
          energy[static_cast<std::size_t>(pair)] >= sorted[static_cast<std::size_t>(count - 1)];
      if (stays) out.push_back(pair);
    }
    return out;
  }
};

TEST_P(HeadDimInPlace, EqualsTheModelWithOtherPairsSetToZero) {
  const HeadShape& heads = model_.dimensions().heads;
  const std::int64_t half = heads.head_dim / 2, size = half;
  const Choice choice = chosen(find_method("head-dim"), size);
  EXPECT_EQ(choice.kept.front(), strongest_pairs(size / 2));
  const Model made = smaller(choice);
  EXPECT_EQ(made.dimensions().heads.head_dim, size);
  const Model in_place = truncated_in_place([&](std::int64_t layer) {
    LayerMatrices own;
    for (const Role role : {Role::query, Role::key}) {
      Matrix<double> joined = plain_.joined(layer, role);
      for (std::int64_t row = 0; row < joined.rows(); ++row) {
        const Numbers& kept = choice.kept.front();
        if (std::find(kept.begin(), kept.end(), row % half) != kept.end()) continue;
        std::fill_n(&joined(row, 0), joined.cols(), 0.0);
      }
      put_joined(own, layer, role, joined);
    }
    put_joined(own, layer, Role::value, plainly_narrowed_values(plain_, layer, /*merged=*/1, size));
    return own;
  });
  expect_same_logits(made, in_place);
}

INSTANTIATE_TEST_SUITE_P(Models, HeadDimInPlace, ::testing::Values("llama", "mistral", "qwen2"));

class MlaInPlace : public InPlace {};

/// Covers latents whose keys are all rotary. With NoPE keys, no attention of the original class
/// gives the scores of both parts. These are checked only by the losses of
/// tools/check_plan_losses.py.
TEST_P(MlaInPlace, EqualsTheModelWithTruncatedKeysAndValues) {
  const Numbers components = plainly_chosen_components(plain_, /*count=*/5);
  EXPECT_EQ(std::accumulate(components.begin(), components.end(), std::int64_t{0}), 5);
  constexpr std::int64_t kJoint = 9;
  const Model made =
      smaller({.method = find_method("mla"), .size = 10, .joint = kJoint, .exact = true});
  ASSERT_TRUE(made.dimensions().mla.has_value());
  const Model in_place = truncated_in_place([&](std::int64_t layer) {
    LayerMatrices own;
    put_joined(own, layer, Role::key, plainly_kept_keys(plain_, layer, components));
    put_joined(own, layer, Role::value,
               plainly_narrowed_values(plain_, layer, /*merged=*/2, kJoint));
    return own;
  });
  expect_same_logits(made, in_place);
}

INSTANTIATE_TEST_SUITE_P(Models, MlaInPlace, ::testing::Values("llama", "qwen2"));

}  // namespace
}  // namespace attnscope::test
