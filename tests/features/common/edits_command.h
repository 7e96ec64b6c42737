// Shared by tests of `--edits`: tiny models with edits in a file.
#pragma once

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/golden_variants.h"
#include "tests/support/store_command.h"

namespace attnscope::test {

/// A model with 3 layers of 3 heads, and two texts for it.
inline const std::string kEditedModel = data_path("forward/gpt2");
inline const std::string kEditedText = "3,17,8,25,11", kOtherText = "30,4,21,9,40";
inline const std::string kModelWithTokenizer = source_path("examples/shakespeare-gpt2");

inline json list_of(const json& record) { return json::array({record}); }

class CliEdits : public CliStore {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string edits(const json& list, const std::string& name = "edits.json") const {
    return folder_.write(name, list.dump()).string();
  }

  /// The logits of a text, saved with these edits.
  std::vector<float> logits(const Words& run, const json& list = nullptr) const {
    const std::string file = path("logits.safetensors");
    Words command = Words{"predict"} + run + Words{"--activations", "logits", "--save", file};
    if (!list.is_null()) command = command + Words{"--edits", edits(list)};
    output_of(command);
    return values_of(*Checkpoint::open(file).find("logits"));
  }

  /// Saves activations of a run.
  std::string saved(const Words& run, const std::string& names,
                    const std::string& name = "run.safetensors") const {
    output_of(Words{"predict"} + run + Words{"--activations", names, "--save", path(name)});
    return path(name);
  }
};

}  // namespace attnscope::test
