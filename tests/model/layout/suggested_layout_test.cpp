// The layout suggested for an unknown architecture computes the same as the built-in family with
// the same tensors and config, or supports only analyses of weights.
#include "attnscope/model/layout/suggested_layout.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/layout/layout_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/layout/layout_writer.h"
#include "attnscope/model/model.h"
#include "tests/support/golden_variants.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TempFolder;

fs::path forward_data() { return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward"; }

json config_in(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// The config under an unknown name. The suffix of its class names stays the same.
json renamed(json config) {
  config["model_type"] = "novel";
  if (!config.contains("architectures") || !config["architectures"].is_array()) return config;
  for (json& name : config["architectures"]) {
    const auto text = name.get<std::string>();
    const auto use = std::min(text.find("For"), text.find("LMHead"));
    name = "Novel" + (use == std::string::npos ? "Model" : text.substr(use));
  }
  return config;
}

std::optional<LayoutOffer> offer_for(const fs::path& folder, const json& config) {
  return offered_layout(std::make_shared<const Checkpoint>(Checkpoint::open(folder)),
                        config.dump());
}

/// The description of the known family, with the LM head tensor of the files.
ModelSpec known_spec(const json& config, const ModelSpec& offered) {
  ModelSpec known = parse_config(config.dump(), "config.json");
  const std::vector<std::string>& heads = known.head.rule.weight;
  const std::string& own = offered.head.rule.weight.front();
  EXPECT_NE(std::find(heads.begin(), heads.end(), own), heads.end()) << own;
  known.head.rule.weight = {own};
  return known;
}

/// Variants in which the family differs from its config: Mistral's default window, its ignored
/// layer types, CWM's default layer types, and Helium's rotary pairs.
const std::set<std::string> kUntold = {"mistral.window-absent", "mistral.types-not-read",
                                       "cwm.types-absent", "helium.eps"};

TEST(LayoutOffer, ComputesTheSameAsTheFamily) {
  std::set<std::string> described;
  for (const test::Variant& variant : test::all_variants()) {
    SCOPED_TRACE(variant.title());
    if (kUntold.contains(variant.title())) continue;
    const json config = test::config_of(variant);
    const auto offer = offer_for(variant.folder(), renamed(config));
    if (!offer) continue;
    const ModelSpec offered = parse_layout(offer->text, "layout.json");
    ASSERT_EQ(offered.layers.empty(), !offer->doubts.empty());
    if (offered.layers.empty()) continue;
    EXPECT_TRUE(computes_the_same(known_spec(config, offered), offered)) << offer->text;
    described.insert(config["model_type"].get<std::string>());
  }
  for (const char* type : {"bert", "gpt_neox", "granite", "llama", "mistral", "qwen2", "qwen3",
                           "roberta", "stablelm"}) {
    EXPECT_TRUE(described.contains(type)) << type;
  }
}

// These keys change the forward pass, and nothing in an unknown model defines how.
TEST(LayoutOffer, SupportsWeightsOnlyIfTheConfigIsNotUnderstood) {
  const struct {
    const char *folder, *changes, *doubt;
  } cases[] = {
      {"llama", R"({"novel_scale": 2})", "config key 'novel_scale' is not understood"},
      {"llama", R"({"use_rope": false})", "config key 'use_rope' is not understood"},
      {"llama", R"({"rope_parameters": {"rope_theta": 100, "mrope_section": [1, 1]}})",
       "'rope_parameters.mrope_section'"},
      {"llama", R"({"rope_parameters": {"rope_type": "novel", "rope_theta": 100}})",
       "rotary scaling 'novel' is not known"},
      {"llama", R"({"hidden_act": "gelu"})", "store gains minus 1"},
      {"llama", R"({"hidden_act": "novel"})", "activation 'novel' is not known"},
      {"llama", R"({"architectures": null})", "neither 'architectures' nor 'is_causal'"},
      {"llama", R"({"architectures": ["NovelForMaskedLM"], "is_decoder": true})", "'is_decoder'"},
      {"llama", R"({"rms_norm_eps": null})", "does not specify 'rms_norm_eps'"},
      {"llama", R"({"embedding_multiplier": 2})", "'attention_multiplier' is missing"},
      {"llama", R"({"attention_bias": true})", "'attention_bias' is true"},
      {"llama", R"({"num_hidden_layers": 1})", "have no role in the layout"},
      {"llama", R"({"num_hidden_layers": 3})", "are missing"},
      {"bert", R"({"position_embedding_type": "relative_key"})", "position_embedding_type"},
      {"gpt_neox", R"({"use_parallel_residual": null})",
       "does not specify 'use_parallel_residual'"},
  };
  for (const auto& [folder, changes, doubt] : cases) {
    SCOPED_TRACE(std::string(folder) + " " + changes);
    json config = renamed(config_in(forward_data() / folder / "config.json"));
    config.merge_patch(json::parse(changes));
    const auto offer = offer_for(forward_data() / folder, config);
    ASSERT_TRUE(offer.has_value());
    std::string doubts;
    for (const std::string& one : offer->doubts) doubts += one + "; ";
    EXPECT_NE(doubts.find(doubt), std::string::npos) << doubts;
    EXPECT_FALSE(json::parse(offer->text).contains("norms"));
    const TempFolder written;
    const Model model =
        Model::open(forward_data() / folder, written.write("layout.json", offer->text));
    EXPECT_TRUE(model.has(Role::query) && model.has(Role::down));
  }
}

// Python's json module writes infinite numbers without quotes.
TEST(LayoutOffer, AcceptsAConfigWithBareInfinity) {
  std::string config = renamed(config_in(forward_data() / "llama/config.json")).dump();
  config.insert(1, R"("time_step_limit": [-Infinity, Infinity], "a": NaN, )");
  const auto offer = offered_layout(
      std::make_shared<const Checkpoint>(Checkpoint::open(forward_data() / "llama")), config);
  ASSERT_TRUE(offer.has_value());
  std::string doubts;
  for (const std::string& one : offer->doubts) doubts += one + "; ";
  EXPECT_NE(doubts.find("'time_step_limit'"), std::string::npos) << doubts;
}

TEST(LayoutOffer, AcceptsAlternativeKeyNames) {
  json config = renamed(config_in(forward_data() / "stablelm/config.json"));
  const json share = config.contains("partial_rotary_factor")
                         ? config["partial_rotary_factor"]
                         : config["rope_parameters"]["partial_rotary_factor"];
  config.erase("partial_rotary_factor");
  if (config.contains("rope_parameters")) config["rope_parameters"].erase("partial_rotary_factor");
  config["rope_pct"] = share;
  config["norm_eps"] = config["layer_norm_eps"];
  config.erase("layer_norm_eps");
  config["num_heads"] = config["num_attention_heads"];
  const auto offer = offer_for(forward_data() / "stablelm", config);
  ASSERT_TRUE(offer.has_value());
  EXPECT_TRUE(offer->doubts.empty()) << offer->doubts.front();
  const json layout = json::parse(offer->text);
  EXPECT_EQ(layout["rope"].value("fraction", 1.0), share.get<double>());
  EXPECT_EQ(layout["norms"]["epsilon"], config["norm_eps"]);
}

TEST(LayoutOffer, IsEmptyForOtherNamesOrShapes) {
  const fs::path gpt2 = forward_data() / "gpt2";
  EXPECT_FALSE(offer_for(gpt2, renamed(config_in(gpt2 / "config.json"))));
  for (const char* changes : {R"({"num_attention_heads": 7})", R"({"num_attention_heads": null})",
                              R"({"num_attention_heads": "many"})", R"({"hidden_act": 3})"}) {
    json config = renamed(config_in(forward_data() / "llama/config.json"));
    config.merge_patch(json::parse(changes));
    EXPECT_FALSE(offer_for(forward_data() / "llama", config)) << changes;
  }
}

}  // namespace
}  // namespace attnscope
