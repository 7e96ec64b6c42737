// The settings of BitNet's quantization_config.
#include "attnscope/model/config/bitnet_config.h"

#include <gtest/gtest.h>

#include "tests/model/spec_of.h"

namespace attnscope::test {
namespace {

ModelSpec quantized(const std::string& type, nlohmann::json settings) {
  settings["quant_method"] = "bitnet";
  return spec_of(type, {{"quantization_config", settings}});
}

TEST(BitnetConfig, InputsOfMatricesAreRounded) {
  EXPECT_FALSE(spec_of("bitnet").layers[0].rounds_inputs);
  for (const char* type : {"bitnet", "llama"}) {
    const ModelSpec spec = quantized(type, {{"modules_to_not_convert", {"lm_head"}}});
    EXPECT_EQ(spec.not_run, "");
    EXPECT_TRUE(spec.layers[0].rounds_inputs);
  }
}

TEST(BitnetConfig, RefusesWhatItDoesNotCompute) {
  const struct {
    const char* type;
    nlohmann::json settings;
    const char* why;
  } cases[] = {
      {"bitnet",
       {{"linear_class", "autobitlinear"}, {"quantization_mode", "online"}},
       "BitNet's 'quantization_mode' is 'online', which rounds weights while the model runs: this "
       "is not supported"},
      {"bitnet",
       {{"use_rms_norm", true}},
       "BitNet's 'use_rms_norm' is true, which is not supported"},
      {"bitnet",
       {{"modules_to_not_convert", {"model.layers.0.mlp.up_proj"}}},
       "BitNet's 'modules_to_not_convert' contains 'model.layers.0.mlp.up_proj', which is not "
       "supported"},
      {"mixtral", nlohmann::json::object(), "BitNet is supported only in decoders with dense MLPs"},
  };
  for (const auto& [type, settings, why] : cases) {
    const ModelSpec spec = quantized(type, settings);
    EXPECT_EQ(spec.not_run, why);
    EXPECT_FALSE(spec.layers[0].rounds_inputs);
  }
}

}  // namespace
}  // namespace attnscope::test
