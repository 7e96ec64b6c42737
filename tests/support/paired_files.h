// Source and target texts of a golden file as lines of two files, and its model with a tokenizer.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/interventions/goldens.h"
#include "tests/support/program.h"

namespace attnscope::test {

/// The model of a golden file, with a tokenizer whose words are token ids, and its pairs as lines
/// of two files.
class PairedFiles {
 public:
  explicit PairedFiles(const json& golden) : model_(golden["model"]) {
    const auto own = folder_.path() / model_.filename();
    std::filesystem::create_directories(own);
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::create_symlink(source_path((model_ / file).string()), own / file);
    }
    json words;
    for (int id = 0; id < 24; ++id) words["w" + std::to_string(id)] = id;
    const json tokenizer = {
        {"version", "1.0"},
        {"added_tokens", json::array()},
        {"pre_tokenizer", {{"type", "Whitespace"}}},
        {"model", {{"type", "WordLevel"}, {"vocab", words}, {"unk_token", "w0"}}}};
    std::ofstream(own / "tokenizer.json") << tokenizer.dump();
    model_ = own;
  }

  /// Arguments that name the model and the pairs.
  Words with(const json& pairs) const {
    std::string sources, targets;
    for (const json& pair : pairs) {
      sources += line_of(pair["source"], 0);
      targets += line_of(pair["target"], 1);  // the start token precedes it
    }
    return {model_.string(), "--text-file", folder_.write("sources.txt", sources).string(),
            "--target-file", folder_.write("targets.txt", targets).string()};
  }

 private:
  static std::string line_of(const json& ids, std::size_t first) {
    std::string line;
    for (std::size_t at = first; at < ids.size(); ++at) line += "w" + ids[at].dump() + " ";
    return line + "\n";
  }

  TempFolder folder_;
  std::filesystem::path model_;
};

}  // namespace attnscope::test
