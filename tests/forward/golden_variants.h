// The golden models of tests/data/forward and tests/data/seq2seq: weights, the configs to read them
// by, and what they must give. What the files hold, and how they are made: tools/golden_forward.py
// and golden_seq2seq.py.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model.h"
#include "attnscope/tensor/decode.h"

namespace attnscope::test {

/// One config over the weights of a folder.
struct Variant {
  std::string model;     // the folder's name
  std::string name;      // "" for the main one, ".eps"
  std::string spelling;  // "", ".old"
  bool has_routing = false, has_generated = false;
  std::string data = "forward";  // which of those folders

  std::filesystem::path folder() const {
    return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / data / model;
  }
  std::filesystem::path config() const { return folder() / ("config" + name + spelling + ".json"); }
  std::filesystem::path expected() const { return of("expected"); }
  std::filesystem::path routing() const { return of("routing"); }
  std::filesystem::path generated() const { return of("generated"); }

 private:
  std::filesystem::path of(const char* what) const {
    return folder() / (what + name + ".safetensors");
  }
};

inline void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.model << "/config" << variant.name << variant.spelling << ".json";
}

/// All of tests/data/forward or tests/data/seq2seq.
inline std::vector<Variant> variants_in(const std::string& data) {
  std::vector<Variant> out;
  const auto models = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / data;
  for (const auto& folder : std::filesystem::directory_iterator(models)) {
    const std::string model = folder.path().filename().string();
    std::set<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      files.insert(file.path().filename().string());
    }
    for (const std::string& file : files) {
      if (!file.starts_with("config") || !file.ends_with(".json")) continue;
      std::string name = file.substr(6, file.size() - 11);
      const bool old = name.ends_with(".old");
      if (old) name.resize(name.size() - 4);
      out.push_back({model, name, old ? ".old" : "",
                     files.contains("routing" + name + ".safetensors"),
                     files.contains("generated" + name + ".safetensors"), data});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Variant& a, const Variant& b) { return a.model < b.model; });
  return out;
}

/// What every test's process asks for several times before it runs its one test: so it is listed
/// once, and no file but folders is touched.
inline const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> all = variants_in("forward");
  return all;
}

inline Model model_of(const Variant& variant) {
  std::ostringstream config;
  config << std::ifstream(variant.config()).rdbuf();
  Checkpoint checkpoint = Checkpoint::open(variant.folder() / "model.safetensors");
  compose_as_config_says(checkpoint);
  return Model(std::move(checkpoint), parse_config(config.str(), variant.config().string()));
}

inline std::vector<float> values_of(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

inline TokenIds ids_of(const CheckpointTensor& tensor) {
  TokenIds ids;
  for (std::size_t at = 0; at < tensor.view.bytes.size(); at += sizeof(std::int32_t)) {
    std::int32_t id = 0;
    std::memcpy(&id, tensor.view.bytes.data() + at, sizeof id);
    ids.push_back(id);
  }
  return ids;
}

/// Of the inputs 0, 1, … of a variant.
inline std::vector<TokenIds> inputs_of(const Checkpoint& expected) {
  std::vector<TokenIds> inputs;
  while (const auto* ids = expected.find("tokens." + std::to_string(inputs.size()))) {
    inputs.push_back(ids_of(*ids));
  }
  return inputs;
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_case(const testing::TestParamInfo<Variant>& variant) {
  std::string name = variant.param.model + variant.param.name + variant.param.spelling;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace attnscope::test
