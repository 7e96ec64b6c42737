// Position-dependent terms of attention scores, by config.json and family. Expected values are
// those of transformers 5.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attnscope/base/error.h"
#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

AttentionSpec attention_of(const char* type, const json& changes = json::object()) {
  return spec_of(type, changes).layers.at(0).attention;
}

TEST(ScoreConfig, FewFamiliesHavePositionTerms) {
  for (const std::string& type : known_types()) {
    SCOPED_TRACE(type);
    const AttentionSpec spec = spec_of(type).layers[0].attention;
    // Baichuan has ALiBi if the file has no max_position_embeddings.
    EXPECT_EQ(spec.alibi.has_value(), type == "bloom" || type == "mpt" || type == "baichuan");
    EXPECT_EQ(spec.buckets.has_value(), type == "mpnet" || type == "layoutlmv3");
    EXPECT_EQ(spec.relative.has_value(), type == "xlnet");
    EXPECT_FALSE(spec.disentangled.has_value());
    EXPECT_FALSE(spec.clip.has_value());
    EXPECT_EQ(spec.sinks.empty(), type != "gpt_oss" && type != "deepseek_v4");
  }
  EXPECT_TRUE(attention_of("mpt").alibi->of_larger_power);
  EXPECT_FALSE(attention_of("bloom").alibi->of_larger_power);
  EXPECT_EQ(attention_of("mpnet", {{"relative_attention_num_buckets", 64}}).buckets->count, 32);
}

TEST(ScoreConfig, FalconUsesRopeOrAlibi) {
  const AttentionSpec rotary = attention_of("falcon"),
                      alibi = attention_of("falcon", {{"alibi", true}});
  EXPECT_TRUE(rotary.rope.has_value());
  EXPECT_FALSE(rotary.alibi.has_value());
  EXPECT_FALSE(alibi.rope.has_value());
  EXPECT_TRUE(alibi.alibi->in_bfloat16);
  EXPECT_FALSE(spec_of("falcon", {{"alibi", true}}).architecture.rope.has_value());
}

TEST(ScoreConfig, FalconHasThreeLayouts) {
  const auto kv_heads = [](const json& changes) {
    return spec_of("falcon", changes).dimensions.heads.kv_heads;
  };
  EXPECT_EQ(kv_heads({}), 1);
  EXPECT_EQ(kv_heads({{"multi_query", false}}), 4);
  const json groups = {{"new_decoder_architecture", true}, {"num_kv_heads", 2}};
  EXPECT_EQ(kv_heads(groups), 2);
  EXPECT_EQ(kv_heads({{"new_decoder_architecture", true}}), 4);
  const auto norms = [](json changes, const char* key = nullptr, const json& value = {}) {
    if (key != nullptr) changes[key] = value;
    const LayerSpec layer = spec_of("falcon", changes).layers[0];
    EXPECT_EQ(layer.parallel, !layer.mlp_input || layer.mlp_input->tensor == "h.{layer}.ln_mlp");
    return layer.attention_input->tensor + " " + (layer.mlp_input ? layer.mlp_input->tensor : "");
  };
  EXPECT_EQ(norms(json::object()), "h.{layer}.input_layernorm ");
  EXPECT_EQ(norms(json::object(), "parallel_attn", false),
            "h.{layer}.input_layernorm h.{layer}.post_attention_layernorm");
  EXPECT_EQ(norms(groups), "h.{layer}.ln_attn h.{layer}.ln_mlp");
  EXPECT_EQ(norms(groups, "num_ln_in_parallel_attn", 2), "h.{layer}.ln_attn h.{layer}.ln_mlp");
  EXPECT_EQ(norms(groups, "num_ln_in_parallel_attn", 1), "h.{layer}.input_layernorm ");
}

TEST(ScoreConfig, MptReadsValuesFromANestedObject) {
  const json config = {{"attn_config", {{"softmax_scale", 0.25}, {"clip_qkv", 6}}}};
  EXPECT_EQ(attention_of("mpt", config).scale, 0.25);
  EXPECT_EQ(attention_of("mpt", config).clip, 6);
  EXPECT_EQ(attention_of("mpt", {{"attn_config", {{"clip_qkv", nullptr}}}}).clip, std::nullopt);
  EXPECT_ERROR_SAYING(ErrorKind::format, attention_of("mpt", {{"attn_config", "none"}}),
                      "config.json", "'attn_config' is \"none\", expected an object");
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      attention_of("mpt", {{"attn_config", {{"clip_qkv", "6"}}}}), "config.json",
                      "attn_config.clip_qkv");
}

json deberta(json changes = json::object()) {
  json config = {
      {"relative_attention", true}, {"pos_att_type", "p2c|c2p"}, {"position_buckets", 8}};
  config.update(changes);
  return config;
}

TEST(ScoreConfig, DebertaScalesByTheNumberOfTerms) {
  const double usual = 1 / std::sqrt(8.0);
  const auto spec = attention_of("deberta-v2", deberta());
  EXPECT_DOUBLE_EQ(spec.scale, usual / std::sqrt(3.0));
  ASSERT_TRUE(spec.disentangled.has_value());
  EXPECT_TRUE(spec.disentangled->content_to_position && spec.disentangled->position_to_content);
  EXPECT_FALSE(spec.disentangled->shared);
  EXPECT_EQ(spec.disentangled->norm, std::nullopt);
  EXPECT_EQ(spec.disentangled->span, 8);
  EXPECT_EQ(spec.disentangled->distant, 512);

  const auto one = attention_of("deberta-v2", deberta({{"pos_att_type", {"c2p"}},
                                                       {"position_buckets", -1},
                                                       {"max_relative_positions", 20},
                                                       {"share_att_key", true},
                                                       {"norm_rel_ebd", "layer_norm"}}));
  EXPECT_DOUBLE_EQ(one.scale, usual / std::sqrt(2.0));
  EXPECT_FALSE(one.disentangled->position_to_content);
  EXPECT_TRUE(one.disentangled->shared);
  EXPECT_EQ(one.disentangled->norm->tensor, "encoder.LayerNorm");
  EXPECT_EQ(one.disentangled->span, 20);
  EXPECT_EQ(one.disentangled->buckets, 0);

  const auto off = attention_of("deberta-v2", deberta({{"relative_attention", false}}));
  EXPECT_DOUBLE_EQ(off.scale, usual / std::sqrt(3.0));
  EXPECT_EQ(off.disentangled, std::nullopt);
  EXPECT_DOUBLE_EQ(attention_of("deberta-v2").scale, usual);
}

TEST(ScoreConfig, RejectsUnsupportedPositionTerms) {
  const auto why = [](const char* type, const json& changes) {
    return spec_of(type, changes).not_run;
  };
  EXPECT_EQ(why("deberta-v2", {{"conv_kernel_size", 4}}),
            "a convolution of 4 tokens in 1 group is not supported");
  EXPECT_EQ(why("deberta-v2", {{"conv_kernel_size", 3}, {"conv_groups", 2}}),
            "a convolution of 3 tokens in 2 groups is not supported");
  EXPECT_EQ(why("deberta-v2", {{"conv_kernel_size", 3}, {"conv_act", "sine"}}),
            "activation 'sine' is not known");
  EXPECT_EQ(why("deberta-v2", deberta({{"max_relative_positions", 5}})),
            "8 buckets for distances up to 5 leave none for ranges of distances");
  EXPECT_EQ(why("esm", {{"token_dropout", true}}),
            "'token_dropout' is true, but 'mask_token_id' is missing");
  EXPECT_EQ(why("esm", {{"position_embedding_type", "relative_key"}}),
            "position_embedding_type 'relative_key' is not known");
  EXPECT_EQ(why("esm", {{"position_embedding_type", "rotary"}}), "");
  EXPECT_EQ(why("modernbert", {{"classifier_activation", "sine"}}),
            "activation 'sine' is not known");
}

// The convolution in DeBERTa's first layer is followed by another norm.
TEST(ScoreConfig, TheOutputNormOfALayerIsItsLastNorm) {
  const ModelSpec spec = spec_of("deberta-v2", {{"conv_kernel_size", 3}});
  EXPECT_EQ(spec.layers[0].output_norm()->tensor, "encoder.conv.LayerNorm");
  EXPECT_EQ(spec.layers[1].output_norm()->tensor, "encoder.layer.{layer}.output.LayerNorm");
}

}  // namespace
}  // namespace attnscope::test
