// Projections that a config describes: all are expected, and those that the files lack are missing.
#include "attnscope/model/expected_roles.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TempFolder;

/// The gated T5 of tests/data with a config that sets only `said` for its MLPs.
std::vector<Model> t5_with_config(const TempFolder& folder, const json& said) {
  const fs::path from = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/encoder_decoders/t5-gated";
  std::ifstream file(from / "config.json");
  json config = json::parse(file);
  for (const char* key : {"feed_forward_proj", "dense_act_fn", "is_gated_act"}) config.erase(key);
  config.update(said);
  const fs::path path = folder.write("t5/config.json", config.dump()).parent_path();
  fs::copy_file(from / "model.safetensors", path / "model.safetensors",
                fs::copy_options::overwrite_existing);
  return Model::open_stacks(Checkpoint::open(path), std::nullopt, "t5");
}

// Expected values: results of T5Config and MT5Config of transformers 5.23 for the same keys.
TEST(ExpectedRoles, T5MlpVariantsFollowTheConfig) {
  const struct {
    const char* said;
    bool gated;
    Activation activation;
  } cases[] = {
      {R"({"is_gated_act": true, "dense_act_fn": "gelu_pytorch_tanh"})", true,
       Activation::gelu_tanh},
      {R"({"is_gated_act": true})", true, Activation::relu},
      {R"({"dense_act_fn": "silu"})", false, Activation::silu},
      {R"({"feed_forward_proj": "relu", "is_gated_act": true})", true, Activation::relu},
      {R"({"feed_forward_proj": "gated-gelu"})", true, Activation::gelu_tanh},
      {R"({"feed_forward_proj": "gated-gelu_new"})", true, Activation::gelu_tanh},
      {R"({"feed_forward_proj": "gated-silu", "is_gated_act": false})", false, Activation::silu},
      {R"({"feed_forward_proj": "gated-silu", "is_gated_act": null})", false, Activation::silu},
      {R"({"feed_forward_proj": "gated-gelu", "dense_act_fn": "relu", "is_gated_act": false})",
       false, Activation::relu},
      {R"({})", false, Activation::relu},
      {R"({"model_type": "mt5"})", true, Activation::gelu_tanh},
      {R"({"model_type": "mt5", "dense_act_fn": "silu"})", true, Activation::silu},
      {R"({"model_type": "mt5", "is_gated_act": false})", false, Activation::gelu_tanh},
  };
  const TempFolder folder;
  for (const auto& [said, gated, activation] : cases) {
    SCOPED_TRACE(said);
    for (const Model& stack : t5_with_config(folder, json::parse(said))) {
      if (stack.stack() == "cross") continue;
      SCOPED_TRACE(stack.stack());
      EXPECT_EQ(stack.spec().layers.front().activation, activation);
      EXPECT_EQ(is_expected(stack, Role::gate), gated);
      for (const Role role :
           {Role::query, Role::key, Role::value, Role::output, Role::up, Role::down}) {
        EXPECT_TRUE(is_expected(stack, role)) << role_name(role);
      }
      EXPECT_EQ(stack.has(Role::gate), gated);
      EXPECT_EQ(stack.has(Role::up), gated) << "the files hold a gated MLP";
    }
  }
}

TEST(ExpectedRoles, NamesUnusedMatrices) {
  const TempFolder folder;
  const std::vector<Model> audio = t5_with_config(folder, {{"is_gated_act", true}});
  EXPECT_EQ(unread_matrices(audio.front()), std::vector<std::string>{});
  const std::vector<Model> plain = t5_with_config(folder, json::object());
  const std::string place = ".block.0.layer.";
  EXPECT_EQ(unread_matrices(plain[0]).size(), 4u) << "two of each MLP";
  EXPECT_EQ(unread_matrices(plain[0]).front(), "encoder" + place + "1.DenseReluDense.wi_0.weight");
  EXPECT_EQ(unread_matrices(plain[1]).size(), 4u);
  EXPECT_EQ(unread_matrices(plain[1]).front(), "decoder" + place + "2.DenseReluDense.wi_0.weight");
  EXPECT_TRUE(unread_matrices(plain[2]).empty()) << "cross attention has no MLP";
}

}  // namespace
}  // namespace attnscope
