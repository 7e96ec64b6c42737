// Layouts of attnscope/model/layouts/. Forward passes: tests/data/forward.
#include "attnscope/model/layout/shipped_layouts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "attnscope/model/known_architectures.h"
#include "attnscope/model/layout/layout_file.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using nlohmann::json;

json phi_config() {
  return {{"model_type", "phi-msft"},
          {"n_layer", 2},
          {"n_head", 2},
          {"n_embd", 16},
          {"n_inner", nullptr},
          {"vocab_size", 32},
          {"n_positions", 32},
          {"rotary_dim", 4},
          {"activation_function", "gelu_new"}};
}

TEST(ShippedLayouts, HaveTypesOfTheirOwn) {
  std::set<std::string> types;
  for (const std::string& type : shipped_layout_types()) {
    EXPECT_TRUE(types.insert(type).second) << type;
    EXPECT_FALSE(find_architecture_by_type(type)) << type;
  }
  EXPECT_GE(types.size(), 10u);
}

TEST(ShippedLayouts, TakeSizesFromTheConfig) {
  const auto layout = shipped_layout(phi_config(), "config.json");
  ASSERT_TRUE(layout);
  const ModelSpec spec = parse_layout(*layout, "config.json");
  EXPECT_EQ(spec.dimensions.layers, 2);
  EXPECT_EQ(spec.dimensions.heads.head_dim, 8);  // hidden size / heads
  EXPECT_EQ(spec.dimensions.mlp_width, 64);      // 4 · hidden size, because n_inner is null
  json wide = phi_config();
  wide["n_inner"] = 40;
  EXPECT_EQ(parse_layout(*shipped_layout(wide, "x"), "x").dimensions.mlp_width, 40);
}

TEST(ShippedLayouts, IgnoreOtherModels) {
  EXPECT_FALSE(shipped_layout({{"model_type", "llama"}}, "x"));
  EXPECT_FALSE(shipped_layout({{"model_type", 3}}, "x"));
}

TEST(ShippedLayouts, RefuseWhatTheyDoNotDescribe) {
  json config = phi_config();
  config["n_head_kv"] = 1;
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, shipped_layout(config, "config.json"),
                      "'n_head_kv' is 1, which the layout of 'phi-msft' does not describe");
  config = phi_config();
  config.erase("n_layer");
  EXPECT_ERROR_SAYING(ErrorKind::format, shipped_layout(config, "config.json"), "has no 'n_layer'");
  config = phi_config();
  config["n_embd"] = "wide";
  EXPECT_ERROR_SAYING(ErrorKind::format, shipped_layout(config, "config.json"), "'n_embd'");
  config = phi_config();
  config["n_layer"] = "two";
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      parse_layout(*shipped_layout(config, "config.json"), "config.json"),
                      "'layers'");
}

}  // namespace
}  // namespace attnscope
