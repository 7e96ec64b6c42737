// Config files that name a family, its sizes or the file itself in another way than transformers
// does today.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A copy of a model with another config file.
fs::path model_with(const fs::path& parent, const std::string& data, const std::string& name,
                    const json& config) {
  const fs::path folder = parent / "model";
  fs::create_directory(folder);
  fs::copy(data_path(data) + "/model.safetensors", folder);
  std::ofstream(folder / name) << config;
  return folder;
}

json config_of(const std::string& data) {
  return json::parse(read_file(data_path(data) + "/config.json"));
}

json rows_of(const Words& arguments) {
  json rows = report_of(arguments + Words{"--quiet"})["rows"];
  for (json& row : rows) row.erase("model");
  return rows;
}

json prediction(const std::string& folder) {
  return rows_of({"predict", folder, "--tokens", "3,7,1,9,4"});
}

json spectra(const std::string& folder) { return rows_of({"spectrum", folder}); }

/// The config that the remote code of the first Falcon files reads.
json refined_web(json config) {
  const std::map<std::string, std::string> renamed = {{"num_attention_heads", "n_head"},
                                                      {"num_hidden_layers", "n_layer"},
                                                      {"num_kv_heads", "n_head_kv"}};
  const bool grouped = config["new_decoder_architecture"].get<bool>();
  for (const auto& [now, then] : renamed) {
    if (now != "num_kv_heads" || grouped) config[then] = config[now];
    config.erase(now);
  }
  for (const char* key : {"new_decoder_architecture", "num_ln_in_parallel_attn"}) config.erase(key);
  for (const char* key : {"alibi", "multi_query", "parallel_attn"}) {
    if (config[key] == false) config.erase(key);  // what is absent is off
  }
  config["model_type"] = grouped ? "RefinedWeb" : "RefinedWebModel";
  config["architectures"] = {"RWForCausalLM"};
  return config;
}

TEST(CliConfigSpellings, RefinedWebIsFalcon) {
  for (const std::string name :
       {"falcon", "falcon-sequential", "falcon-rw", "falcon-per-head", "falcon-groups"}) {
    SCOPED_TRACE(name);
    const std::string data = "forward/" + name;
    const TempFolder temp;
    const fs::path folder =
        model_with(temp.path(), data, "config.json", refined_web(config_of(data)));
    EXPECT_EQ(prediction(folder), prediction(data_path(data)));
    EXPECT_EQ(spectra(folder), spectra(data_path(data)));
  }
}

TEST(CliConfigSpellings, ClipPrefersTheSizesOfConfigDicts) {
  json config = config_of("stacks/clip");
  for (const char* tower : {"text_config", "vision_config"}) {
    config[std::string(tower) + "_dict"] = config[tower];
    config[tower]["num_attention_heads"] = 1;
    config[tower]["intermediate_size"] = 7;
  }
  const TempFolder temp;
  const fs::path folder = model_with(temp.path(), "stacks/clip", "config.json", config);
  EXPECT_EQ(spectra(folder), spectra(data_path("stacks/clip")));
  config["text_config_dict"] = nullptr;  // as in openai/clip-vit-base-patch32
  std::ofstream(folder / "config.json") << config;
  expect_refusal({"spectrum", folder}, kBadFile, {"mlp.fc1.weight", "expected [7, 12]"});
}

TEST(CliConfigSpellings, BertNeedsNoModelType) {
  json config = config_of("forward/bert");
  for (const char* key : {"model_type", "architectures"}) config.erase(key);
  for (const char* name : {"bert_config.json", "config.json"}) {
    SCOPED_TRACE(name);
    const TempFolder temp;
    const fs::path folder = model_with(temp.path(), "forward/bert", name, config);
    EXPECT_EQ(spectra(folder), spectra(data_path("forward/bert")));
  }
}

TEST(CliConfigSpellings, OtherModelsNeedTheirType) {
  json config = config_of("forward/roberta");
  for (const char* key : {"model_type", "architectures"}) config.erase(key);
  const TempFolder temp;
  const fs::path folder = model_with(temp.path(), "forward/roberta", "config.json", config);
  expect_refusal({"spectrum", folder}, kBadFile, {"has neither model_type nor architectures"});
}

}  // namespace
}  // namespace attnscope::test
