#include "attnscope/adapters/open_adapted.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/adapters/adapted_tensors.h"
#include "attnscope/adapters/adapter_config.h"
#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/checkpoint/peft/adapter_files.h"

namespace attnscope {
namespace {

/// The text of a config.json without a tie of the LM head to the embedding.
std::string untied(const std::string& text, const std::string& source) {
  nlohmann::json config = parse_python_json(text, source);
  constexpr const char* kTied = "tie_word_embeddings";
  config[kTied] = false;
  for (const char* nested : {"text_config", "decoder"}) {
    if (config.contains(nested) && config[nested].is_object()) config[nested][kTied] = false;
  }
  return python_json_text(config, 2) + "\n";
}

}  // namespace

OpenAdapter open_adapter(const CheckpointFolder& folder, std::string weights) {
  if (!folder.has(kAdapterConfigName)) {
    throw Error(ErrorKind::io,
                {.file = folder.path().string(),
                 .problem = "is not an adapter: contains no " + std::string(kAdapterConfigName)});
  }
  if (weights.empty()) weights = adapter_weights(folder);
  if (weights.empty()) {
    throw Error(ErrorKind::io, {.file = folder.path().string(),
                                .problem = "contains no adapter weights, expected "
                                           "adapter_model.safetensors or adapter_model.bin"});
  }
  OpenAdapter out{.files = Checkpoint::open(folder, weights)};
  const nlohmann::json config =
      parse_python_json(folder.read_text(kAdapterConfigName, kMaxAdapterConfigBytes),
                        folder.place_of(kAdapterConfigName));
  if (config.is_object()) {
    const auto base = config.find("base_model_name_or_path");
    if (base != config.end() && base->is_string()) out.base = base->get<std::string>();
  }
  return out;
}

std::vector<Model> open_adapted_stacks(Checkpoint base, OpenAdapter adapter,
                                       const std::optional<std::filesystem::path>& layout,
                                       std::string name, std::vector<std::string>& notes) {
  AdapterConfig config = read_adapter_config(adapter.files.folder());
  const auto shared = std::make_shared<Checkpoint>(std::move(base));
  AdaptedTensors adapted;
  {
    const std::vector<Model> stacks = Model::open_stacks(shared, layout, name);
    adapted = adapted_tensors(stacks, adapter.files, config);
    if (adapted.unties_head && !layout) {
      const ModelSpec& spec = stacks.front().spec();
      shared->use_config(untied(spec.text, spec.source));
    }
  }
  shared->take_files(std::move(adapter.files), std::move(adapted.memory));
  shared->replace_tensors(std::move(adapted.tensors));
  notes.insert(notes.end(), config.notes.begin(), config.notes.end());
  return Model::reopen_stacks(shared, layout, std::move(name));
}

}  // namespace attnscope
