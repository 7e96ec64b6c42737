// Rotary angles from config.json in its old and new forms.
#include "attnscope/model/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

/// A config.json of `layers` layers with `more` fields.
ModelSpec spec_of(const std::string& model_type, const std::string& more, int layers = 2) {
  return parse_config(
      R"({"model_type":")" + model_type + R"(","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"num_attention_heads":4,"hidden_size":16,"vocab_size":9)" + more + "}",
      "config.json");
}

TEST(Rope, IsAbsentWherePositionsAreNotRotary) {
  EXPECT_TRUE(spec_of("bert", "").rope.empty());
  EXPECT_TRUE(spec_of("opt", "").rope.empty());
}

TEST(Rope, FallsBackToTheFamilysNumbers) {
  const Rope llama = spec_of("llama", "").rope.at(1);
  EXPECT_EQ(llama.theta, 10000);
  EXPECT_EQ(llama.fraction, 1);
  EXPECT_EQ(llama.scaling, "default");
  EXPECT_EQ(spec_of("gpt_neox", "").rope.at(0).fraction, 0.25);
  EXPECT_EQ(spec_of("phi", "").rope.at(0).fraction, 0.5);
}

TEST(Rope, ReadsOldAndNewForms) {
  for (const char* fields :
       {R"(,"rope_theta":5e5,"rope_scaling":{"type":"linear","factor":4})",
        R"(,"rope_parameters":{"rope_type":"linear","rope_theta":5e5,"factor":4})"}) {
    const Rope rope = spec_of("llama", fields).rope.at(0);
    EXPECT_EQ(rope.theta, 5e5) << fields;
    EXPECT_EQ(rope.scaling, "linear") << fields;
    EXPECT_EQ(rope.factor, 4) << fields;
  }
  for (const char* fields :
       {R"(,"rotary_pct":0.5,"rotary_emb_base":100)",
        R"(,"rope_parameters":{"partial_rotary_factor":0.5,"rope_theta":100})"}) {
    const Rope rope = spec_of("gpt_neox", fields).rope.at(0);
    EXPECT_EQ(rope.theta, 100) << fields;
    EXPECT_EQ(rope.fraction, 0.5) << fields;
  }
}

TEST(Rope, KnowsLocalAndGlobalLayersOfGemma3) {
  const auto old_form =
      spec_of("gemma3_text",
              R"(,"rope_scaling":{"rope_type":"linear","factor":8},"sliding_window_pattern":2)");
  const auto new_form = spec_of(
      "gemma3_text", R"(,"layer_types":["sliding_attention","full_attention"],"rope_parameters":{
          "sliding_attention":{"rope_type":"default","rope_theta":10000},
          "full_attention":{"rope_type":"linear","factor":8,"rope_theta":1000000}})");
  for (const ModelSpec& spec : {old_form, new_form}) {
    EXPECT_EQ(spec.rope.at(0).theta, 1e4);
    EXPECT_EQ(spec.rope.at(0).scaling, "default");
    EXPECT_EQ(spec.rope.at(1).theta, 1e6);
    EXPECT_EQ(spec.rope.at(1).scaling, "linear");
    EXPECT_EQ(spec.rope.at(1).factor, 8);
  }
  const auto six = spec_of("gemma3_text", "", /*layers=*/7).rope;
  for (std::size_t layer = 0; layer < six.size(); ++layer) {
    EXPECT_EQ(six[layer].theta, layer == 5 ? 1e6 : 1e4) << layer;
  }
}

TEST(Rope, RefusesWhatIsNoNumber) {
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
  EXPECT_EQ(spec_of("llama", R"(,"rope_theta":null,"rope_scaling":null)").rope.at(0).theta, 10000);
}

TEST(RopeFrequencies, FallGeometrically) {
  const auto got = rope_frequencies({.theta = 100, .fraction = 0.5}, /*head_dim=*/16, "here");
  ASSERT_EQ(got.size(), 4u);
  for (std::size_t pair = 0; pair < got.size(); ++pair) {
    EXPECT_NEAR(got[pair], std::pow(100, -static_cast<double>(pair) / 4), 1e-15);
  }
  const auto linear = rope_frequencies({.scaling = "linear", .factor = 4}, 8, "here");
  EXPECT_NEAR(linear[0], 0.25, 1e-15);
}

TEST(RopeFrequencies, Llama3StretchesLongWavesOnly) {
  const Rope plain{.theta = 500000};
  const Rope scaled{.scaling = "llama3", .theta = 500000, .factor = 8, .original_context = 8192};
  const auto before = rope_frequencies(plain, 128, "here");
  const auto after = rope_frequencies(scaled, 128, "here");
  EXPECT_EQ(after.front(), before.front());
  EXPECT_NEAR(after.back(), before.back() / 8, 1e-20);
  for (std::size_t pair = 0; pair < after.size(); ++pair) {
    EXPECT_LE(after[pair], before[pair]);
    EXPECT_GE(after[pair], before[pair] / 8 * (1 - 1e-15));
  }
}

TEST(RopeFrequencies, RefusesOtherScalings) {
  for (const char* scaling : {"yarn", "longrope", "dynamic"}) {
    EXPECT_ERROR(ErrorKind::unsupported, rope_frequencies({.scaling = scaling}, 8, "config.json"));
  }
}

}  // namespace
}  // namespace attnscope
