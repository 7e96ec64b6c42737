// Multi-head latent attention in config.json and layout files. Expected values are those of
// transformers 5.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/summary.h"
#include "tests/model/spec_of.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

bool has_rule(const ModelSpec& spec, Role role) {
  const auto& weights = spec.architecture.weights;
  return std::any_of(weights.begin(), weights.end(),
                     [&](const WeightRule& rule) { return rule.role == role; });
}

TEST(MlaConfig, UsesDefaultSizesForMissingValues) {
  const struct {
    const char* type;
    std::int64_t query_rank, rank, head_dim, rotary, value_dim;
  } families[] = {
      {"glm_moe_dsa", 2048, 512, 256, 64, 256}, {"deepseek_v32", 1536, 512, 192, 64, 128},
      {"minicpm3", 768, 256, 96, 32, 8},  // value size: hidden size / heads
      {"deepseek_v2", 1536, 512, 192, 64, 128}, {"deepseek_v3", 1536, 512, 192, 64, 128},
      {"kimi_k2", 1536, 512, 192, 64, 128}};
  for (const auto& family : families) {
    SCOPED_TRACE(family.type);
    const Dimensions dimensions = spec_of(family.type, {{"num_key_value_heads", 2}}).dimensions;
    ASSERT_TRUE(dimensions.mla);
    EXPECT_EQ(dimensions.mla->query, family.query_rank);
    EXPECT_EQ(dimensions.mla->key_value, family.rank);
    EXPECT_EQ(dimensions.heads.kv_heads, 4);  // the value in the file is ignored
    EXPECT_EQ(dimensions.heads.head_dim, family.head_dim);
    EXPECT_EQ(dimensions.heads.shared_key_dim, family.rotary);
    EXPECT_EQ(dimensions.heads.value_dim, family.value_dim);
    EXPECT_EQ(kv_cache_bytes_per_token(dimensions), 2 * 3 * (family.rank + family.rotary));
  }
}

TEST(MlaConfig, DescribesStoredAndCombinedMatrices) {
  const Dimensions dimensions = spec_of("minicpm3", {{"q_lora_rank", 10},
                                                     {"kv_lora_rank", 9},
                                                     {"qk_nope_head_dim", 6},
                                                     {"qk_rope_head_dim", 4},
                                                     {"v_head_dim", 5}})
                                    .dimensions;
  using Shape2 = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(canonical_shape(dimensions, Role::query_down), (Shape2{10, 32}));
  EXPECT_EQ(canonical_shape(dimensions, Role::query_up), (Shape2{4 * 10, 10}));
  EXPECT_EQ(canonical_shape(dimensions, Role::kv_down), (Shape2{9 + 4, 32}));
  EXPECT_EQ(canonical_shape(dimensions, Role::kv_up), (Shape2{4 * (6 + 5), 9}));
  EXPECT_EQ(canonical_shape(dimensions, Role::query), (Shape2{4 * 10, 32}));
  // Shared rows count once.
  EXPECT_EQ(canonical_shape(dimensions, Role::key), (Shape2{4 * 6 + 4, 32}));
  EXPECT_EQ(canonical_shape(dimensions, Role::value), (Shape2{4 * 5, 32}));
  EXPECT_EQ(canonical_shape(dimensions, Role::kv), (Shape2{4 * (6 + 5) + 4, 32}));
}

TEST(MlaConfig, QueriesMayHaveNoLatent) {
  const ModelSpec with = spec_of("minicpm3"), without = spec_of("minicpm3", {{"q_lora_rank", {}}});
  EXPECT_FALSE(has_rule(with, Role::query));
  EXPECT_TRUE(has_rule(with, Role::query_up));
  EXPECT_TRUE(with.layers[0].attention.mla->query_norm);
  EXPECT_TRUE(has_rule(without, Role::query));
  EXPECT_FALSE(has_rule(without, Role::query_up));
  EXPECT_FALSE(without.layers[0].attention.mla->query_norm);
  EXPECT_EQ(without.dimensions.mla->query, 0);
}

TEST(MlaConfig, NormsOfLatentsHaveTheirOwnEpsilon) {
  const AttentionSpec attention =
      spec_of("deepseek_v3", {{"rms_norm_eps", 0.5}}).layers[0].attention;
  EXPECT_EQ(attention.mla->norm.epsilon, 1e-6);
  EXPECT_EQ(attention.mla->query_norm->epsilon, 1e-6);
}

TEST(MlaConfig, OnlyTheLastDimensionsRotate) {
  for (const char* type : {"minicpm3", "deepseek_v2", "deepseek_v3"}) {
    const Rope rope = *spec_of(type, {{"qk_rope_head_dim", 8}}).layers[0].attention.rope;
    EXPECT_EQ(rope.dimensions, 8);
    EXPECT_TRUE(rope.last);
    const bool halves = std::string(type) == "minicpm3";
    EXPECT_EQ(rope.pairs, halves ? RotaryPairs::halves : RotaryPairs::neighbors);
  }
  const auto rope = spec_of("deepseek_v3", {{"rope_interleave", false}}).layers[0].attention.rope;
  EXPECT_EQ(rope->pairs, RotaryPairs::halves);
}

TEST(MlaConfig, RopeScalingScalesScores) {
  const auto scale = [](const json& rope) {
    return spec_of("deepseek_v3", {{"rope_parameters", rope}}).layers[0].attention.scale;
  };
  const double usual = 1 / std::sqrt(192.0), gain = 0.1 * 0.7 * std::log(40.0) + 1;
  EXPECT_EQ(scale({{"rope_type", "default"}, {"factor", 40}, {"mscale_all_dim", 0.7}}), usual);
  EXPECT_EQ(scale({{"rope_type", "yarn"}, {"factor", 40}}), usual);
  EXPECT_DOUBLE_EQ(scale({{"rope_type", "yarn"}, {"factor", 40}, {"mscale_all_dim", 0.7}}),
                   usual * gain * gain);
  EXPECT_DOUBLE_EQ(scale({{"rope_type", "linear"}, {"factor", 40}, {"mscale_all_dim", 0.7}}),
                   usual * gain * gain);
}

TEST(MlaConfig, ListsTheMoeLayers) {
  const auto experts = [](const char* type, const json& changes) {
    const ModelSpec spec = spec_of(type, changes);
    EXPECT_EQ(spec.not_run, "") << type << ' ' << changes;
    std::string layers;
    for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
      layers += spec.has_experts(layer) ? 'x' : '-';
    }
    return layers;
  };
  EXPECT_EQ(experts("deepseek_v2", json::object()), "xxx");
  EXPECT_EQ(experts("deepseek_v2", {{"first_k_dense_replace", 1}}), "-xx");
  EXPECT_EQ(experts("deepseek_v3", json::object()), "---");  // from layer 3 on
  EXPECT_EQ(experts("deepseek_v3", {{"num_hidden_layers", 4}}), "---x");
  const json kinds = {"dense", "sparse", "dense"};
  EXPECT_EQ(experts("deepseek_v32", {{"mlp_layer_types", kinds}}), "-x-");
  EXPECT_EQ(experts("glm_moe_dsa", {{"mlp_layer_types", {"dense", "dense", "dense"}}}), "---");
}

TEST(MlaConfig, RejectsInvalidSizes) {
  const struct {
    json changes;
    std::string_view said;
  } cases[] = {
      {{{"kv_lora_rank", 0}}, "'kv_lora_rank' is 0, expected a whole number from 1"},
      {{{"q_lora_rank", 0}}, "'q_lora_rank' is 0, expected a whole number from 1"},
      {{{"kv_lora_rank", -8}}, "'kv_lora_rank' is -8"},
      {{{"kv_lora_rank", 1e300}}, "'kv_lora_rank' is 1e+300"},
      {{{"kv_lora_rank", nullptr}}, "has no 'kv_lora_rank'"},
      {{{"kv_lora_rank", "512"}}, "'kv_lora_rank' is \"512\""},
      {{{"q_lora_rank", 1'000'000'001}}, "'q_lora_rank' is 1000000001"},
      {{{"qk_rope_head_dim", 7}},
       "'qk_rope_head_dim' is 7, expected an even number, because RoPE rotates pairs of "
       "dimensions"},
      {{{"qk_nope_head_dim", 1'000'000'000}}, "the limit of 1000000000"},
      {{{"qk_nope_head_dim", 200'000'000}, {"v_head_dim", 200'000'000}}, "the limit"},
      {{{"v_head_dim", 1'000'000'000}}, "the limit of 1000000000"},
      {{{"v_head_dim", nullptr}, {"hidden_size", 33}}, "33 is not a multiple of 4 heads"},
      {{{"kv_lora_rank", 1'000'000'000}}, "the limit of 1000000000"},
      {{{"first_k_dense_replace", -1}}, "'first_k_dense_replace' is -1"},
  };
  for (const auto& [changes, said] : cases) {
    SCOPED_TRACE(changes.dump());
    try {
      spec_of("deepseek_v3", changes);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

json layout_with_mla() {
  json weights = json::array();
  for (const char* role : {"q_a", "q_b", "kv_a", "kv_b", "o"}) {
    weights.push_back({{"role", role}, {"tensor", role}});
  }
  return {{"schema", "attnscope-layout/1"},
          {"layers", 1},
          {"hidden_size", 32},
          {"heads", 4},
          {"head_dim", 10},
          {"value_dim", 5},
          {"latent", {{"q_lora_rank", 10}, {"kv_lora_rank", 9}, {"rotary_dim", 4}}},
          {"weights", weights}};
}

TEST(MlaConfig, LayoutFilesDescribeMla) {
  const ModelSpec spec = parse_layout(layout_with_mla().dump(), "layout.json");
  EXPECT_EQ(spec.dimensions.mla->query, 10);
  EXPECT_EQ(spec.dimensions.mla->key_value, 9);
  EXPECT_EQ(spec.dimensions.heads.shared_key_dim, 4);
  const struct {
    std::string_view patch, said;
  } faults[] = {
      {R"({"latent":{"kv_lora_rank":null}})", "latent: has no 'kv_lora_rank'"},
      {R"({"latent":{"kv_lora_rank":0}})", "latent: 'kv_lora_rank' is not a whole number from 1"},
      {R"({"latent":{"kv_lora_rank":1000000000}})", "the limit of 1000000000"},
      {R"({"latent":{"rotary_dim":3}})", "'rotary_dim' is not an even number below 'head_dim'"},
      {R"({"latent":{"rotary_dim":10}})", "'rotary_dim' is not an even number below 'head_dim'"},
      {R"({"latent":{"kv_lora_ranks":2}})",
       "unknown field 'kv_lora_ranks' (did you mean 'kv_lora_rank'?)"},
      {R"({"latent":{"epsilon":-1}})", "'epsilon' is not a non-negative number"},
      {R"({"latent":{"q_lora_rank":null}})", "'q_a' requires a 'latent' with a 'q_lora_rank'"},
      {R"({"latent":null})", "requires a 'latent'"},
      {R"({"kv_heads":2})", "latent: requires as many 'kv_heads' as 'heads'"},
      {R"({"weights":[{"role":"k","tensor":"k"}]})", "'k' is computed from a latent"},
      {R"({"weights":[{"role":"q","tensor":"q"}]})", "'q' is computed from a latent"},
  };
  for (const auto& [patch, said] : faults) {
    SCOPED_TRACE(patch);
    json layout = layout_with_mla();
    layout.merge_patch(json::parse(patch));
    try {
      parse_layout(layout.dump(), "layout.json");
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace attnscope::test
