// The models of tests/data/gguf-families (tools/make_gguf_family_files.py) in both formats.
#pragma once

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace attnscope::test {

struct GgufFamilyCase {
  std::string name;
  std::filesystem::path gguf, weights, config;  // weights and config in transformers' format
};

inline void PrintTo(const GgufFamilyCase& model, std::ostream* out) { *out << model.name; }

/// Writes the model in transformers' format into a folder.
inline void write_original(const GgufFamilyCase& model, const TempFolder& folder) {
  std::filesystem::copy_file(model.config, folder.path() / "config.json");
  std::filesystem::create_symlink(model.weights, folder.path() / "model.safetensors");
}

/// The name as part of a test name.
inline std::string test_name(std::string name) {
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

inline std::vector<GgufFamilyCase> gguf_families() {
  namespace fs = std::filesystem;
  const fs::path data = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data";
  std::ifstream file(data / "gguf-families/cases.json");
  std::vector<GgufFamilyCase> out;
  const auto all = nlohmann::json::parse(file).get<std::map<std::string, std::string>>();
  for (const auto& [name, weights] : all) {
    const fs::path folder = data / "forward" / weights;
    const fs::path own = data / "gguf-families" / (name + ".json");
    out.push_back({.name = name,
                   .gguf = data / "gguf-families" / (name + ".gguf"),
                   .weights = folder / "model.safetensors",
                   .config = fs::exists(own) ? own : folder / "config.json"});
  }
  return out;
}

}  // namespace attnscope::test
