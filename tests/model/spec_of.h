// Models of every known family, from a minimal config.json.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/model_spec.h"

namespace attnscope::test {

/// Dimensions under the key names of every family: 3 layers, 4 heads, hidden size 32.
inline ModelSpec spec_of(const std::string& model_type,
                         const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json config = {{"model_type", model_type}};
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}) {
    config[key] = 3;
  }
  for (const char* key :
       {"num_attention_heads", "n_head", "num_heads", "n_heads", "num_key_value_heads"}) {
    config[key] = 4;
  }
  for (const char* key : {"hidden_size", "n_embd", "dim", "model_dim"}) config[key] = 32;
  config["vocab_size"] = 9;
  config["rotary_dim"] = 4;
  config["num_experts"] = 4;
  config["n_routed_experts"] = 16;  // two for each of DeepSeek-V3's 8 groups
  config["num_experts_per_tok"] = 2;
  config["mamba_n_heads"] = 4;         // Bamba's default of 128 exceeds the number of channels
  config["num_kv_shared_layers"] = 0;  // Gemma 3n's default of 15 exceeds the number of layers
  for (const auto& [key, value] : changes.items()) config[key] = value;
  return parse_config(config.dump(), "config.json");
}

/// The model_type of each family that can be run. tests/model/config/mixer_config_test.cpp checks
/// why the others cannot. Defaults of most families are checked by the variants of
/// tests/data/forward that omit keys, not by a table.
/// tests/data/forward that leave keys out, not by a table for each fact.
inline std::vector<std::string> known_types() {
  const std::set<std::string> not_run = {"deit",
                                         "dinov2",
                                         "vit",
                                         "dinov2_with_registers",
                                         "hubert",
                                         "wav2vec2",
                                         "dinov3_vit",
                                         "clip_vision_model",
                                         "siglip_vision_model",
                                         "siglip2_vision_model",
                                         "beit",
                                         "blip_vision_model",
                                         "data2vec-vision",
                                         "donut-swin",
                                         "segformer",
                                         "swin",
                                         "swinv2",
                                         "trocr",
                                         "videomae",
                                         "vit_mae",
                                         "vit_msn",
                                         "wav2vec2-bert",
                                         "wavlm"};
  std::vector<std::string> types;
  for (const Architecture& architecture : known_architectures()) {
    if (!architecture.stacks.empty() || architecture.of_two_models) continue;
    if (!not_run.contains(architecture.name)) types.push_back(architecture.model_types.front());
  }
  return types;
}

}  // namespace attnscope::test
