// Opens a model from its checkpoint and its description: config.json or a layout file.
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/checkpoint/peft/adapter_files.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/foreign/foreign_checkpoints.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/layout/suggested_layout.h"
#include "attnscope/model/layout/torch_layers.h"
#include "attnscope/model/model.h"
#include "attnscope/model/model_names.h"
#include "attnscope/model/tensor_roles.h"
#include "attnscope/model/wrapper_prefix.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr std::uint64_t kMaxConfigBytes = 10'000'000;

/// Adds the command that writes a layout file to the error.
Error with_offer(const Error& error) {
  ErrorParts parts = error.parts();
  parts.problem.resize(std::min(parts.problem.size(), parts.problem.find("; known: ")));
  parts.hint =
      "its tensor names are known: write a layout file with 'info MODEL {suggest_layout} "
      "FILE.json', then pass it with {layout}";
  return {error.kind(), std::move(parts)};
}

/// Names BERT as the model of a config.json that Google's programs wrote, if the tensors do.
std::string with_model_type(const std::string& text, const std::string& source,
                            const Checkpoint& checkpoint) {
  if (text.find("\"model_type\"") != std::string::npos) return text;
  if (checkpoint.find("bert.embeddings.word_embeddings.weight") == nullptr) return text;
  nlohmann::json config = parse_python_json(text, source);
  if (!config.is_object() || config.contains("architectures")) return text;
  config["model_type"] = "bert";
  return python_json_text(config);
}

std::vector<ModelSpec> specs_of_config(const Checkpoint& checkpoint, const std::string& stored,
                                       const std::string& source) {
  const std::string text = with_model_type(stored, source, checkpoint);
  try {
    return parse_stacks(text, source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    const std::shared_ptr<const Checkpoint> borrowed(std::shared_ptr<void>(), &checkpoint);
    if (!offered_layout(borrowed, text)) throw;
    throw with_offer(error);
  }
}

/// Throws Error(unsupported) with the adapter type and its base model if the folder has an
/// adapter_config.json.
void refuse_adapter(const CheckpointFolder& folder) {
  if (!folder.has(kAdapterConfigName)) return;
  const nlohmann::json config =
      parse_python_json(folder.read_text(kAdapterConfigName, kMaxAdapterConfigBytes),
                        folder.place_of(kAdapterConfigName));
  std::string base = "for an unnamed base model";
  if (config.is_object() && config.contains("base_model_name_or_path") &&
      config["base_model_name_or_path"].is_string()) {
    base = "for '" + config["base_model_name_or_path"].get<std::string>() + "'";
  }
  throw Error(ErrorKind::unsupported,
              {.file = folder.path().string(),
               .problem = verbatim("contains an adapter (" + adapter_kind(config) + ") " + base +
                                   ", not a model"),
               .hint = "pass the folder of the base model, or merge the adapter into it"});
}

/// Returns the specs of the model from a layout file, the checkpoint itself, or the config.json in
/// its folder.
std::vector<ModelSpec> specs_of(const Checkpoint& checkpoint,
                                const std::optional<fs::path>& layout) {
  if (!layout && checkpoint.config()) {
    return specs_of_config(checkpoint, *checkpoint.config(), checkpoint.main_file().string());
  }
  const CheckpointFolder& folder = checkpoint.folder();
  const std::string source = layout ? layout->string() : folder.place_of(kConfig);
  if (!layout && checkpoint.main_file().filename() == adapter_weights(folder)) {
    refuse_adapter(folder);
  }
  if (!layout && !folder.has(kConfig)) {
    refuse_adapter(folder);
    throw Error(ErrorKind::io,
                {.file = source,
                 .problem = "file not found: the weights require a config.json in the same folder",
                 .hint = layout_of_torch_layers(checkpoint)
                             ? "its tensors are named as in layers of torch.nn: write a layout "
                               "file with 'info MODEL {suggest_layout} FILE.json'"
                             : "or describe the model with {layout} FILE.json"});
  }
  if (layout) return {parse_layout(read_text_file(*layout, kMaxConfigBytes), source)};
  return specs_of_config(checkpoint, folder.read_text(kConfig, kMaxConfigBytes), source);
}

}  // namespace

std::vector<Model> Model::open_stacks(Checkpoint checkpoint, const std::optional<fs::path>& layout,
                                      std::string name) {
  return open_stacks(std::make_shared<Checkpoint>(std::move(checkpoint)), layout, std::move(name));
}

std::vector<Model> Model::open_stacks(const std::shared_ptr<Checkpoint>& checkpoint,
                                      const std::optional<fs::path>& layout, std::string name) {
  if (!layout) adopt_foreign_checkpoint(*checkpoint);
  const std::vector<ModelSpec> specs = specs_of(*checkpoint, layout);
  const ModelSpec& first = specs.front();
  if (!layout) checkpoint->leave_out_prefix(wrapper_prefix(*checkpoint, specs));
  checkpoint->compose_quantized(first.quantization.method, first.quantization.config, first.source);
  if (has_head_tensors(first.architecture)) {
    checkpoint->replace_tensors(with_heads_joined(*checkpoint, first));
  }
  return stacks_of(checkpoint, specs, layout, std::move(name));
}

std::vector<Model> Model::reopen_stacks(std::shared_ptr<const Checkpoint> checkpoint,
                                        const std::optional<fs::path>& layout, std::string name) {
  std::vector<ModelSpec> specs = specs_of(*checkpoint, layout);
  return stacks_of(std::move(checkpoint), std::move(specs), layout, std::move(name));
}

std::vector<Model> Model::stacks_of(std::shared_ptr<const Checkpoint> shared,
                                    std::vector<ModelSpec> specs,
                                    const std::optional<fs::path>& layout, std::string name) {
  if (specs.size() > 1) {
    std::vector<ModelSpec> held;
    std::copy_if(specs.begin(), specs.end(), std::back_inserter(held),
                 [&](const ModelSpec& spec) { return has_projections(*shared, spec); });
    if (held.empty()) held.push_back(specs.front());  // its error names what is missing
    specs = std::move(held);
  }
  std::vector<Model> models;
  for (ModelSpec& spec : specs) {
    const std::string& stack = spec.architecture.stack;
    models.emplace_back(shared, std::move(spec), stack.empty() ? name : name + ":" + stack);
  }
  if (layout) refuse_unmatched_patterns(models.front());
  if (models.size() > 1) share_out(models);
  return models;
}

/// Sets the siblings of each stack, and which tensors belong to them.
void Model::share_out(std::vector<Model>& stacks) {
  std::set<std::string> all, taken;
  const Checkpoint& checkpoint = stacks.front().checkpoint();
  for (const CheckpointTensor& tensor : checkpoint.tensors()) all.insert(tensor.name);
  for (const auto& [alias, name] : checkpoint.aliases()) all.insert(alias);
  std::vector<std::set<std::string>> own;
  for (const Model& stack : stacks) {
    std::set<std::string>& named = own.emplace_back(named_tensors(stack));
    std::erase_if(named, [&](const std::string& name) { return !taken.insert(name).second; });
  }
  for (const std::string& name : all) {
    if (!taken.contains(name)) own.front().insert(name);
  }
  for (std::size_t stack = 0; stack < stacks.size(); ++stack) {
    std::set<std::string> others;
    std::set_difference(all.begin(), all.end(), own[stack].begin(), own[stack].end(),
                        std::inserter(others, others.end()));
    stacks[stack].of_other_stacks_ = std::make_shared<const std::set<std::string>>(others);
  }
  const auto all_stacks = std::make_shared<const std::vector<Model>>(stacks);
  for (Model& stack : stacks) stack.stacks_ = all_stacks;
}

void Model::run_layers_by(std::vector<Model>& stacks,
                          const std::shared_ptr<const LayerRunner>& runner) {
  for (Model& stack : stacks) {
    stack.layer_runner_ = runner;
    stack.stacks_ = nullptr;  // which refers to stacks without the runner
  }
  if (stacks.size() < 2) return;
  const auto all_stacks = std::make_shared<const std::vector<Model>>(stacks);
  for (Model& stack : stacks) stack.stacks_ = all_stacks;
}

const Model* Model::sibling(std::string_view stack) const {
  if (stacks_ == nullptr) return nullptr;
  const auto found = std::find_if(stacks_->begin(), stacks_->end(),
                                  [&](const Model& other) { return other.stack() == stack; });
  return found == stacks_->end() ? nullptr : &*found;
}

Model Model::beside(std::string_view stack) const {
  Model other = *sibling(stack);
  other.stacks_ = stacks_;
  return other;
}

Model Model::open_stack(Checkpoint checkpoint, const std::string& name, std::string_view stack) {
  if (stack.empty()) return open(std::move(checkpoint), std::nullopt, name);
  std::vector<Model> stacks = open_stacks(std::move(checkpoint), std::nullopt, name);
  for (Model& model : stacks) {
    if (model.stack() == stack) return std::move(model);
  }
  throw Error(ErrorKind::format, {.file = stacks.front().checkpoint().main_file().string(),
                                  .problem = "contains no " + std::string(stack)});
}

Model Model::open(const fs::path& path, const std::optional<fs::path>& layout, std::string name) {
  return open(Checkpoint::open(path), layout,
              name.empty() ? distinct_names({path}).front() : std::move(name));
}

Model Model::open(Checkpoint checkpoint, const std::optional<fs::path>& layout, std::string name) {
  std::vector<Model> stacks = open_stacks(std::move(checkpoint), layout, std::move(name));
  if (stacks.size() == 1) return std::move(stacks.front());
  throw Error(ErrorKind::unsupported, {.file = stacks.front().spec().source,
                                       .problem = "describes a model with several stacks"});
}

void compose_by_config(Checkpoint& checkpoint) {
  const CheckpointFolder& folder = checkpoint.folder();
  std::string text, place = checkpoint.main_file().string();
  if (checkpoint.config()) {
    text = *checkpoint.config();
  } else if (folder.has(kConfig)) {
    text = folder.read_text(kConfig, kMaxConfigBytes);
    place = folder.place_of(kConfig);
  }
  const Quantization found = text.empty() ? Quantization() : parse_quantization(text, place);
  checkpoint.compose_quantized(found.method, found.config, place);
}

}  // namespace attnscope
