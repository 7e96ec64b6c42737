// The golden models of tests/data/forward: weights, the configs to read them by, and what they must
// give. What the files hold, and how they are made: tools/golden_forward.py.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tokens/token_ids.h"

namespace attnscope::test {

/// One config over the weights of a folder.
struct Variant {
  std::filesystem::path folder;
  std::string name;      // "" for the main one, ".eps"
  std::string spelling;  // "", ".old"

  std::filesystem::path config() const { return folder / ("config" + name + spelling + ".json"); }
  std::filesystem::path expected() const { return folder / ("expected" + name + ".safetensors"); }
  std::filesystem::path routing() const { return folder / ("routing" + name + ".safetensors"); }
  std::filesystem::path generated() const { return folder / ("generated" + name + ".safetensors"); }
};

inline void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.folder.filename().string() << "/" << variant.config().filename().string();
}

inline std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  const auto cases = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward";
  for (const auto& folder : std::filesystem::directory_iterator(cases)) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::string name = file.path().filename().string();
      if (!name.starts_with("config") || !name.ends_with(".json")) continue;
      name = name.substr(6, name.size() - 11);
      const bool old = name.ends_with(".old");
      if (old) name.resize(name.size() - 4);
      out.push_back({folder.path(), name, old ? ".old" : ""});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Variant& a, const Variant& b) { return a.config() < b.config(); });
  return out;
}

inline Model model_of(const Variant& variant) {
  std::ostringstream config;
  config << std::ifstream(variant.config()).rdbuf();
  Checkpoint checkpoint = Checkpoint::open(variant.folder / "model.safetensors");
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
  std::string name =
      variant.param.folder.filename().string() + variant.param.name + variant.param.spelling;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace attnscope::test
