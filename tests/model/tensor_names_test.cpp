#include "attnscope/model/tensor_names.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(NamePattern, InsertsItsNumbers) {
  const LayerNumbers numbers{.layer = 12, .group = 3, .inner = 1};
  EXPECT_EQ(fill_pattern("h.{layer}.attn", numbers), "h.12.attn");
  EXPECT_EQ(fill_pattern("{group}/{inner}/{layer}{layer}", numbers), "3/1/1212");
  EXPECT_EQ(fill_pattern("plain", numbers), "plain");
  EXPECT_EQ(fill_pattern("", numbers), "");
  EXPECT_EQ(fill_pattern("{head}{layer", numbers), "{head}{layer");
}

TEST(NamePattern, MatchesWholeNames) {
  constexpr std::int64_t kNoLayer = -1, kNoMatch = -2;
  const struct {
    std::string_view pattern, name;
    std::int64_t layer;
  } cases[] = {
      {"norm.weight", "norm.weight", kNoLayer},
      {"norm.weight", "norm.weights", kNoMatch},
      {"norm.weight", "norm.weigh", kNoMatch},
      {"", "", kNoLayer},
      {"", "a", kNoMatch},
      {"h.{layer}.ln", "h.0.ln", 0},
      {"h.{layer}.ln", "h.123.ln", 123},
      {"h.{layer}.ln", "h..ln", kNoMatch},
      {"h.{layer}.ln", "h.x.ln", kNoMatch},
      {"h.{layer}.ln", "h.-1.ln", kNoMatch},
      {"h.{layer}.ln", "h.1.2.ln", kNoMatch},
      {"h.{layer}.ln", "h.99999999999999999999.ln", kNoMatch},  // exceeds int64
      {"g.{group}.{inner}.{layer}", "g.1.2.3", 3},
      {"g.{group}.{inner}", "g.1.2", kNoLayer},
      {"*", "", kNoLayer},
      {"*", "anything", kNoLayer},
      {"*.bias", "a.b.bias", kNoLayer},
      {"*.bias", "a.b.bias.weight", kNoMatch},
      {"a*b*c", "a.b.b.c.b.c", kNoLayer},
      {"a*b*c", "a.c.b", kNoMatch},
      {"*.{layer}.*norm.*", "model.7.input_layernorm.weight", 7},
      {"*{layer}.ln", "h.3.h.45.ln", 45},
      {"h.{layer}.ln_*", "h.2.ln_1.weight", 2},
  };
  for (const auto& [pattern, name, layer] : cases) {
    const auto match = match_pattern(pattern, name);
    const std::int64_t found = match ? match->layer.value_or(kNoLayer) : kNoMatch;
    EXPECT_EQ(found, layer) << pattern << " against " << name;
  }
}

TEST(NamePattern, FilledNamesMatchTheirPattern) {
  for (const std::int64_t layer : {0, 9, 10, 9999}) {
    const std::string pattern = "layers.{layer}.self_attn.q_proj.weight";
    const auto match = match_pattern(pattern, fill_pattern(pattern, {.layer = layer}));
    ASSERT_TRUE(match);
    EXPECT_EQ(match->layer, layer);
  }
}

// Backtracking over every `*` would take exponential time.
TEST(NamePattern, ManyStarsStayFast) {
  std::string pattern;
  for (int star = 0; star < 50; ++star) pattern += "*a";
  const std::string name(2'000, 'a');
  EXPECT_TRUE(match_pattern(pattern, name));
  EXPECT_FALSE(match_pattern(pattern + "b", name));
}

}  // namespace
}  // namespace attnscope
