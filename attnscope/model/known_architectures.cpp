#include "attnscope/model/known_architectures.h"

#include <algorithm>

namespace attnscope {

// One function per family, each in the file of its name in families/ (close relatives share one).
Architecture albert();
Architecture bert();
Architecture daisy_gpt2();
Architecture distilbert();
Architecture gemma();
Architecture gemma2();
Architecture gemma3();
Architecture gpt2();
Architecture gpt_neo();
Architecture gpt_neox();
Architecture llama();
Architecture mistral();
Architecture opt();
Architecture phi();
Architecture phi3();
Architecture qwen2();
Architecture qwen3();
Architecture roberta();

const std::vector<Architecture>& known_architectures() {
  static const std::vector<Architecture> all = {
      albert(), bert(), daisy_gpt2(), distilbert(), gemma(), gemma2(),
      gemma3(), gpt2(), gpt_neo(),    gpt_neox(),   llama(), mistral(),
      opt(),    phi(),  phi3(),       qwen2(),      qwen3(), roberta(),
  };
  return all;
}

const Architecture* find_architecture_by_type(std::string_view model_type) {
  for (const Architecture& architecture : known_architectures()) {
    const auto& types = architecture.model_types;
    if (std::find(types.begin(), types.end(), model_type) != types.end()) return &architecture;
  }
  return nullptr;
}

const Architecture* find_architecture_by_class(std::string_view class_name) {
  // "GPT2LMHeadModel", "BertForMaskedLM", "OPTModel": the family, then what it is used for.
  std::size_t end = class_name.size();
  for (const std::string_view use : {"For", "LMHead", "DoubleHeads", "Model", "PreTrained"}) {
    end = std::min(end, class_name.find(use));
  }
  const std::string_view family = class_name.substr(0, end);
  for (const Architecture& architecture : known_architectures()) {
    const auto& families = architecture.class_families;
    if (std::find(families.begin(), families.end(), family) != families.end()) {
      return &architecture;
    }
  }
  return nullptr;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : known_architectures()) names.push_back(architecture.name);
  return names;
}

}  // namespace attnscope
