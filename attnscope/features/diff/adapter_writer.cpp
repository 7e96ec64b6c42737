#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "attnscope/features/diff/adapter.h"
#include "attnscope/tensor/encode.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

/// Name suffixes that all linear modules with this suffix share; otherwise full names.
std::vector<std::string> target_modules(const Adapter& adapter) {
  std::set<std::string> targets;
  for (const auto& [name, module] : adapter.modules) {
    const std::string last = last_part(name);
    const bool all =
        std::all_of(adapter.linear.begin(), adapter.linear.end(), [&](const std::string& other) {
          return last_part(other) != last || adapter.modules.contains(other);
        });
    targets.insert(all ? last : name);
  }
  return {targets.begin(), targets.end()};
}

nlohmann::json config_of(const Adapter& adapter) {
  std::int64_t largest = 1;
  for (const auto& [name, module] : adapter.modules) largest = std::max(largest, module.a.rows());
  nlohmann::json ranks = nlohmann::json::object();
  for (const auto& [name, module] : adapter.modules) {
    if (module.a.rows() != largest) ranks[name] = module.a.rows();
  }
  std::set<std::string> saved;
  for (const auto& [name, view] : adapter.whole) saved.insert(module_of(name));
  nlohmann::json config = {
      {"peft_type", "LORA"},
      {"base_model_name_or_path", adapter.base},
      {"r", largest},
      {"lora_alpha", largest},  // a scale of 1; alpha_pattern gives the same scale
      {"rank_pattern", ranks},
      {"alpha_pattern", ranks},
      {"target_modules", target_modules(adapter)},
      {"modules_to_save", nullptr},
      {"lora_dropout", 0.0},
      {"bias", adapter.with_biases ? "lora_only" : "none"},
      {"use_rslora", false},
      {"fan_in_fan_out", adapter.transposed},
      {"inference_mode", true},
      {"init_lora_weights", true}};
  config["task_type"] = adapter.causal ? "CAUSAL_LM" : "FEATURE_EXTRACTION";
  if (!saved.empty()) config["modules_to_save"] = saved;
  return config;
}

/// A tensor of the file and the function that writes its elements.
struct AdapterTensor {
  SavedTensor saved;
  const Matrix<double>* matrix = nullptr;
  const std::vector<double>* vector = nullptr;
  const TensorView* view = nullptr;

  std::vector<std::byte> elements() const {
    if (view != nullptr) return encoded_elements(*view, DType::f32);
    if (vector != nullptr) return encode(*vector, DType::f32);
    return encode({matrix->data(), static_cast<std::size_t>(matrix->rows() * matrix->cols())},
                  DType::f32);
  }
};

std::vector<AdapterTensor> tensors_of(const Adapter& adapter) {
  const std::string before = "base_model.model.";
  std::vector<AdapterTensor> out;
  for (const auto& [name, module] : adapter.modules) {
    const std::string start = before + name;
    for (const auto& [ending, matrix] :
         {std::pair{".lora_A.weight", &module.a}, std::pair{".lora_B.weight", &module.b}}) {
      out.push_back({.saved = {.name = start + ending, .shape = {matrix->rows(), matrix->cols()}},
                     .matrix = matrix});
    }
    if (!adapter.with_biases || module.bias.empty()) continue;
    out.push_back(
        {.saved = {.name = start + ".base_layer.bias", .shape = {std::ssize(module.bias)}},
         .vector = &module.bias});
  }
  for (const auto& [name, view] : adapter.whole) {
    out.push_back({.saved = {.name = before + name, .shape = view.shape}, .view = &view});
  }
  return out;
}

}  // namespace

void write_adapter(const Adapter& adapter, const std::string& card, const NewFolder& folder) {
  const std::vector<AdapterTensor> tensors = tensors_of(adapter);
  std::vector<SavedTensor> saved;
  for (const AdapterTensor& tensor : tensors) saved.push_back(tensor.saved);
  folder.write("adapter_model.safetensors", [&](std::ostream& out) {
    SafetensorsWriter file(saved, out, {{"format", "pt"}});
    for (const AdapterTensor& tensor : tensors) file.write(DType::f32, tensor.elements());
    file.end();
  });
  folder.write("adapter_config.json", config_of(adapter).dump(2) + "\n");
  folder.write("README.md", card);
}

}  // namespace attnscope
