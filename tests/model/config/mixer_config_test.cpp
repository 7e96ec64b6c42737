// Which layers have attention, by config.json. Expected values are those of transformers 5.
#include "attnscope/model/config/mixer_config.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// One character per layer: "a" for attention, "-" for another mixer.
std::string attending(const char* model_type, const json& changes) {
  const Dimensions dimensions = spec_of(model_type, changes).dimensions;
  std::string layers;
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    layers += dimensions.attends(layer) ? 'a' : '-';
  }
  return layers;
}

TEST(MixerConfig, ListsTheAttentionLayers) {
  const json linear = "linear_attention", full = "full_attention";
  const struct {
    const char* type;
    json changes;
    const char* layers;
  } cases[] = {
      {"qwen3_next", {{"num_hidden_layers", 8}}, "---a---a"},
      {"qwen3_next", {{"full_attention_interval", 2}}, "-a-"},
      {"qwen3_next", {{"layer_types", {full, linear, full}}}, "a-a"},
      {"qwen3_next", {{"layer_types", {"attention", linear, "attention", full}}}, "a-a"},
      {"qwen3_next", {{"layer_types", nullptr}, {"full_attention_interval", 1}}, "aaa"},
      {"qwen3_5_text", {{"num_hidden_layers", 5}}, "---a-"},
      {"lfm2", json::object(), "aaa"},
      {"lfm2", {{"full_attn_idxs", {0, 2, 9}}}, "a-a"},
      {"lfm2", {{"full_attn_idxs", {0}}, {"layer_types", {"conv", full, "conv"}}}, "-a-"},
      {"granitemoehybrid", json::object(), "---"},
      {"granitemoehybrid", {{"layer_types", {"mamba", "attention", "mamba"}}}, "-a-"},
      {"granitemoehybrid", {{"layers_block_type", {"mamba", "mamba", full}}}, "--a"},
      {"nemotron_h", {{"hybrid_override_pattern", "M-*E*"}}, "--a-a"},
      {"nemotron_h", {{"layers_block_type", {linear, "mlp", full, "moe"}}}, "--a-"},
      {"jamba", {{"num_hidden_layers", 13}}, "----a-------a"},
      {"jamba", {{"attn_layer_period", 2}, {"attn_layer_offset", 0}}, "a-a"},
      {"falcon_h1", json::object(), "aaa"},
      {"zamba2", {{"num_hidden_layers", 14}}, "------a-----a-"},
      {"zamba2", {{"hybrid_layer_ids", {1}}}, "-a-"},
      {"mllama", {{"num_hidden_layers", 14}}, "aaa-aaaa-aaaa-"},
      {"mllama", {{"cross_attention_layers", {0, 2}}}, "-a-"},
      {"minimax", json::object(), "a-a"},
      {"zamba2", {{"layers_block_type", {"mamba", "hybrid", "hybrid"}}}, "-aa"},
      {"kimi_linear", {{"num_hidden_layers", 9}}, "----a---a"},
      {"kimi_linear", {{"linear_attn_config", {{"full_attn_layers", {2}}}}}, "-a-"},
      {"recurrent_gemma", {{"num_hidden_layers", 5}}, "--a--"},
      {"recurrent_gemma",
       {{"num_hidden_layers", 5}, {"block_types", {"attention", "recurrent"}}},
       "a-a-a"},
      {"llama", {{"layer_types", {linear, full, full}}}, "aaa"},
  };
  for (const auto& [type, changes, layers] : cases) {
    EXPECT_EQ(attending(type, changes), layers) << type << " " << changes;
  }
}

TEST(MixerConfig, UsesTransformersDefaultsForMissingValues) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const ModelSpec spec = spec_of(type);
    const DeltaNetSpec& own = *spec.layers.front().mixer->delta_net;
    EXPECT_EQ(own.key_heads, 16) << type;
    EXPECT_EQ(own.value_heads, 32) << type;
    EXPECT_EQ(own.key_dim, 128) << type;
    EXPECT_EQ(own.value_dim, 128) << type;
    EXPECT_EQ(own.kernel, 4) << type;
    EXPECT_EQ(own.epsilon, 1e-6) << type;
    EXPECT_EQ(spec.dimensions.heads.head_dim, 256) << type;
    EXPECT_EQ(spec.layers.front().attention.rope->fraction, 0.25) << type;
  }
  const ModelSpec lfm2 = spec_of("lfm2", {{"full_attn_idxs", {1}}});
  EXPECT_EQ(lfm2.layers.front().mixer->short_convolution->kernel, 3);
  EXPECT_EQ(lfm2.dimensions.mlp_width, 8192);  // instead of 12288
  EXPECT_EQ(spec_of("qwen3_next", {{"num_key_value_heads", nullptr}}).dimensions.experts, 4);
  const KimiDeltaSpec kimi = *spec_of("kimi_linear").layers.front().mixer->kimi_delta;
  EXPECT_EQ(kimi.heads, 32);
  EXPECT_EQ(kimi.head_dim, 128);
  EXPECT_EQ(kimi.kernel, 4);
  EXPECT_EQ(kimi.epsilon, 1e-5);
  const ModelSpec griffin = spec_of("recurrent_gemma");
  EXPECT_EQ(griffin.layers.front().mixer->rg_lru->width, griffin.dimensions.width);
  EXPECT_EQ(griffin.layers.front().mixer->rg_lru->kernel, 4);
  EXPECT_EQ(griffin.layers.back().attention.mask.reach, 2047);
}

TEST(MixerConfig, NamesTheLayerThatPreventsTheForwardPass) {
  const struct {
    const char* type;
    json changes;
    const char* why;
  } cases[] = {
      {"qwen3_next", json::object(), ""},
      {"lfm2", {{"full_attn_idxs", {1}}}, ""},
      {"granitemoehybrid", {{"layer_types", {"attention", "attention", "attention"}}}, ""},
      {"granitemoehybrid", {{"layer_types", {"attention", "mamba", "attention"}}}, ""},
      {"bamba", {{"attn_layer_indices", {1}}}, ""},
      {"falcon_h1", json::object(), ""},
      {"jamba", json::object(), ""},
      {"nemotron_h", {{"hybrid_override_pattern", "*-M"}}, ""},
      {"zamba2", json::object(), ""},
      {"zamba2", {{"use_mem_rope", true}}, ""},
      {"zamba2",
       {{"use_long_context", true}},
       "'use_long_context' is true: the rescaled RoPE base is not supported"},
      {"minimax", json::object(), ""},
      {"mllama", {{"cross_attention_layers", {1}}}, ""},
      {"kimi_linear", json::object(), ""},
      {"recurrent_gemma", json::object(), ""},
      {"recurrent_gemma",
       {{"block_types", {"recurrent", "odd"}}},
       "layer 1 has the unknown type 'odd' instead of attention, which is not supported"},
      {"qwen3_next",
       {{"layer_types", {"full_attention", "full_attention", "odd"}}},
       "layer 2 has the unknown type 'odd' instead of attention, which is not supported"},
  };
  for (const auto& [type, changes, why] : cases) {
    EXPECT_EQ(spec_of(type, changes).not_run, why) << type << " " << changes;
  }
}

TEST(MixerConfig, RejectsInvalidValues) {
  const struct {
    const char* type;
    json changes;
    const char* problem;
  } cases[] = {
      {"qwen3_next", {{"layer_types", {"full_attention"}}}, "'layer_types' lists 1 of 3 layers"},
      {"qwen3_next", {{"layer_types", 3}}, "'layer_types'"},
      {"qwen3_next", {{"full_attention_interval", 0}}, "'full_attention_interval'"},
      {"qwen3_next",
       {{"linear_num_value_heads", 3}, {"linear_num_key_heads", 2}},
       "3 value heads of linear attention are not a multiple of 2 key heads"},
      {"qwen3_next", {{"linear_key_head_dim", 900'000'000}}, "exceed the limit of 1000000000"},
      {"qwen3_next", {{"linear_conv_kernel_dim", 0}}, "'linear_conv_kernel_dim'"},
      {"lfm2", {{"full_attn_idxs", {-1}}}, "'full_attn_idxs'"},
      {"lfm2", {{"conv_L_cache", 900'000'000}, {"full_attn_idxs", {1}}}, "the limit"},
      {"lfm2", {{"block_ffn_dim_multiplier", 1e30}}, "the limit"},
      {"kimi_linear", {{"linear_head_dim", 900'000'000}}, "exceed the limit of 1000000000"},
      {"kimi_linear", {{"linear_attn_config", {{"num_heads", 0}}}}, "num_heads"},
      {"recurrent_gemma", {{"lru_width", 3}}, "'lru_width' is 3, expected a multiple of"},
      {"recurrent_gemma", {{"conv1d_width", 900'000'000}}, "the limit"},
      {"recurrent_gemma", {{"block_types", json::array()}}, "'block_types' lists 0 of 3 layers"},
      {"jamba", {{"attn_layer_offset", 8}}, "'attn_layer_offset' is 8"},
      {"nemotron_h", {{"hybrid_override_pattern", 7}}, "'hybrid_override_pattern'"},
      {"falcon_h1",
       {{"mamba_d_ssm", 48}, {"mamba_n_heads", 6}, {"mamba_d_head", 4}, {"mamba_n_groups", 1}},
       "6 heads of 4 do not have the 48 channels of Mamba-2"},
  };
  for (const auto& row : cases) {
    const auto& type = row.type;  // lambdas cannot capture structured bindings
    const auto& changes = row.changes;
    const auto& problem = row.problem;
    SCOPED_TRACE(problem);
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of(type, changes), problem);
  }
}

TEST(MixerConfig, TextsSkipLayersThatAttendToImages) {
  const ModelSpec spec = spec_of("mllama", {{"cross_attention_layers", {1}}});
  EXPECT_FALSE(spec.dimensions.attends(1));
  EXPECT_FALSE(spec.dimensions.has_mlp(1));
  EXPECT_FALSE(spec.dimensions.mixes(1));
  EXPECT_FALSE(spec.layers[1].mixer);
  EXPECT_TRUE(spec.dimensions.has_mlp(2));
}

TEST(MixerConfig, OnlyLayersWithAttentionHaveABlock) {
  const ModelSpec spec = spec_of("zamba2", {{"hybrid_layer_ids", {1}}, {"rms_norm_eps", 0.5}});
  EXPECT_FALSE(spec.layers[0].block);
  EXPECT_FALSE(spec.layers[0].mlp_input);
  EXPECT_EQ(spec.layers[0].attention_input->tensor, "layers.{layer}.input_layernorm");
  ASSERT_TRUE(spec.layers[1].block);
  EXPECT_TRUE(spec.layers[1].block->query_adapter.empty());
  EXPECT_EQ(spec.layers[1].block->mixer_norm.epsilon, 0.5);
  EXPECT_EQ(spec.layers[1].mixer->mamba2->epsilon, 1e-5);
}

TEST(MixerConfig, SharedBlocksAlternate) {
  const Dimensions dimensions =
      spec_of("zamba2", {{"num_mem_blocks", 2}, {"hybrid_layer_ids", {0, 1, 2}}}).dimensions;
  EXPECT_EQ(layer_numbers(dimensions, 0).group, 0);
  EXPECT_EQ(layer_numbers(dimensions, 1).group, 1);
  EXPECT_EQ(layer_numbers(dimensions, 2).group, 0);
  EXPECT_EQ(layer_numbers(dimensions, 2).inner, 2);
  EXPECT_EQ(canonical_shape(dimensions, Role::query),
            (std::pair<std::int64_t, std::int64_t>(64, 64)));
  EXPECT_EQ(canonical_shape(dimensions, Role::output),
            (std::pair<std::int64_t, std::int64_t>(32, 64)));
}

}  // namespace
}  // namespace attnscope::test
