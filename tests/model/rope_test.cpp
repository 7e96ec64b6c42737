// RoPE settings from config.json in old and new formats.
#include "attnscope/model/rope.h"
#include "attnscope/model/config/parse_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/model_spec.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

/// A config.json with `layers` layers and the fields `more`.
ModelSpec spec_of(const std::string& model_type, const std::string& more, int layers = 2) {
  return parse_config(
      R"({"model_type":")" + model_type + R"(","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"num_attention_heads":4,"hidden_size":16,"vocab_size":9)" + more + "}",
      "config.json");
}

/// The RoPE settings of one layer.
Rope rope_of(const ModelSpec& spec, std::size_t layer) {
  return spec.layers.at(layer).attention.rope.value();
}

TEST(Rope, IsAbsentWithoutRotaryPositions) {
  for (const char* model_type : {"bert", "opt"}) {
    for (const LayerSpec& layer : spec_of(model_type, "").layers) {
      EXPECT_EQ(layer.attention.rope, std::nullopt) << model_type;
    }
  }
}

TEST(Rope, FallsBackToTheDefaultsOfTheFamily) {
  const Rope llama = rope_of(spec_of("llama", ""), 1);
  EXPECT_EQ(llama.theta, 10000);
  EXPECT_EQ(llama.fraction, 1);
  EXPECT_EQ(llama.scaling, RopeScaling::none);
  EXPECT_EQ(rope_of(spec_of("gpt_neox", ""), 0).fraction, 0.25);
  EXPECT_EQ(rope_of(spec_of("phi", ""), 0).fraction, 0.5);
}

TEST(Rope, ReadsOldAndNewFormats) {
  for (const char* fields :
       {R"(,"rope_theta":5e5,"rope_scaling":{"type":"linear","factor":4})",
        R"(,"rope_parameters":{"rope_type":"linear","rope_theta":5e5,"factor":4})"}) {
    const Rope rope = rope_of(spec_of("llama", fields), 0);
    EXPECT_EQ(rope.theta, 5e5) << fields;
    EXPECT_EQ(rope.scaling, RopeScaling::linear) << fields;
    EXPECT_EQ(rope.factor, 4) << fields;
  }
  for (const char* fields :
       {R"(,"rotary_pct":0.5,"rotary_emb_base":100)",
        R"(,"rope_parameters":{"partial_rotary_factor":0.5,"rope_theta":100})"}) {
    const Rope rope = rope_of(spec_of("gpt_neox", fields), 0);
    EXPECT_EQ(rope.theta, 100) << fields;
    EXPECT_EQ(rope.fraction, 0.5) << fields;
  }
}

TEST(Rope, ReadsAlphaForHunYuanOnly) {
  const std::string scaling = R"(,"rope_scaling":{"type":"dynamic","factor":2,"alpha":50})";
  EXPECT_EQ(rope_of(spec_of("llama", scaling), 0).alpha, std::nullopt);
  EXPECT_EQ(rope_of(spec_of("hunyuan_v1_dense", scaling), 0).alpha, 50);
}

TEST(Rope, DistinguishesLocalAndGlobalLayersOfGemma3) {
  const auto old_form =
      spec_of("gemma3_text",
              R"(,"rope_scaling":{"rope_type":"linear","factor":8},"sliding_window_pattern":2)");
  const auto new_form = spec_of(
      "gemma3_text", R"(,"layer_types":["sliding_attention","full_attention"],"rope_parameters":{
          "sliding_attention":{"rope_type":"default","rope_theta":10000},
          "full_attention":{"rope_type":"linear","factor":8,"rope_theta":1000000}})");
  for (const ModelSpec& spec : {old_form, new_form}) {
    EXPECT_EQ(rope_of(spec, 0).theta, 1e4);
    EXPECT_EQ(rope_of(spec, 0).scaling, RopeScaling::none);
    EXPECT_EQ(rope_of(spec, 1).theta, 1e6);
    EXPECT_EQ(rope_of(spec, 1).scaling, RopeScaling::linear);
    EXPECT_EQ(rope_of(spec, 1).factor, 8);
  }
  const ModelSpec six = spec_of("gemma3_text", "", /*layers=*/7);
  for (std::size_t layer = 0; layer < six.layers.size(); ++layer) {
    EXPECT_EQ(rope_of(six, layer).theta, layer == 5 ? 1e6 : 1e4) << layer;
  }
}

TEST(Rope, DistinguishesWindowedAndFullLayersOfGemma4) {
  const ModelSpec spec = spec_of("gemma4_text", "");
  const Rope local = rope_of(spec, 0), full = rope_of(spec, 1);
  EXPECT_EQ(local.scaling, RopeScaling::none);
  EXPECT_EQ(local.theta, 10000);
  EXPECT_EQ(local.fraction, 1);
  EXPECT_EQ(full.scaling, RopeScaling::proportional);
  EXPECT_EQ(full.theta, 1e6);
  EXPECT_EQ(full.fraction, 0.25);
}

TEST(RopeFrequencies, PartialRotationUsesTheFrequenciesOfTheWholeHead) {
  const Rope rope{
      .scaling = RopeScaling::proportional, .theta = 16, .fraction = 0.6, .factor = 4.0};
  // 3 of 5 pairs rotate, each by 16^(-pair / 5) / 4 radians per token.
  const std::vector<float> turns = rope_frequencies(rope, 10, 8, "config.json").radians_per_token;
  ASSERT_EQ(turns.size(), 5u);
  for (std::size_t pair = 0; pair < 3; ++pair) {
    EXPECT_NEAR(turns[pair], std::pow(16.0, -static_cast<double>(pair) / 5) / 4, 1e-7);
  }
  EXPECT_EQ(turns[3], 0);
  EXPECT_EQ(turns[4], 0);
}

TEST(Rope, RejectsInvalidNumbers) {
  for (const char* fields :
       {R"(,"rope_theta":"many")", R"(,"rope_theta":0)", R"(,"rope_theta":-1)",
        R"(,"rope_parameters":{"factor":[]})", R"(,"layer_types":["full_attention"])"}) {
    SCOPED_TRACE(fields);
    if (std::string(fields).find("layer_types") == std::string::npos) {
      EXPECT_ERROR(ErrorKind::format, spec_of("llama", fields));
    } else {
      EXPECT_ERROR(ErrorKind::format, spec_of("gemma3_text", fields));
    }
  }
  EXPECT_EQ(rope_of(spec_of("llama", R"(,"rope_theta":null,"rope_scaling":null)"), 0).theta, 10000);
}

std::vector<float> frequencies(const Rope& rope, std::int64_t head_dim) {
  return rope_frequencies(rope, head_dim, /*tokens=*/1, "config.json").radians_per_token;
}

TEST(RopeFrequencies, DecreaseGeometrically) {
  const auto got = frequencies({.theta = 100, .fraction = 0.5}, /*head_dim=*/16);
  ASSERT_EQ(got.size(), 4u);
  for (std::size_t pair = 0; pair < got.size(); ++pair) {
    EXPECT_FLOAT_EQ(got[pair], std::pow(100.0F, -static_cast<float>(pair) / 4));
  }
  EXPECT_EQ(frequencies({.scaling = RopeScaling::linear, .factor = 4}, 8).at(0), 0.25F);
}

TEST(RopeFrequencies, Llama3ScalesLongWavelengthsOnly) {
  const Rope plain{.theta = 500000};
  const Rope scaled{
      .scaling = RopeScaling::llama3, .theta = 500000, .factor = 8, .original_context = 8192};
  const auto before = frequencies(plain, 128);
  const auto after = frequencies(scaled, 128);
  EXPECT_EQ(after.front(), before.front());
  EXPECT_EQ(after.back(), before.back() / 8);
  for (std::size_t pair = 0; pair < after.size(); ++pair) {
    EXPECT_LE(after[pair], before[pair]);
    EXPECT_GE(after[pair], before[pair] / 8);
  }
}

TEST(RopeFrequencies, RejectsUnknownScalings) {
  const Rope unknown{.scaling = RopeScaling::unknown, .scaling_name = "spiral\n"};
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, frequencies(unknown, 8), "config.json",
                      "'spiral\\x0a'", "known: default, linear");
}

}  // namespace
}  // namespace attnscope
