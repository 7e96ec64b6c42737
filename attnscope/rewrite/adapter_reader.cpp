#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"
#include "attnscope/core/text.h"
#include "attnscope/rewrite/adapter.h"
#include "attnscope/rewrite/changed_model.h"
#include "attnscope/rewrite/encode.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr std::string_view kBefore = "base_model.model.";

struct ReadAdapter {
  nlohmann::json config;
  Checkpoint files;
  std::string place;

  [[noreturn]] void refuse(ErrorKind kind, const std::string& tensor,
                           const std::string& problem) const {
    throw Error(kind, {.file = place, .tensor = tensor, .problem = problem});
  }

  /// The number that a pattern of the config gives the module, else that of `usual`.
  double number(const char* pattern, const std::string& module, const char* usual) const {
    const auto patterns = config.find(pattern);
    if (patterns != config.end() && patterns->is_object()) {
      for (const auto& [name, value] : patterns->items()) {
        const bool named = module == name || module.ends_with("." + name);
        if (named && value.is_number()) return value.get<double>();
      }
    }
    const auto value = config.find(usual);
    if (value == config.end() || !value->is_number()) {
      refuse(ErrorKind::format, "",
             std::string("adapter_config.json has no number '") + usual + "'");
    }
    return value->get<double>();
  }

  bool flag(const char* name) const {
    const auto found = config.find(name);
    return found != config.end() && found->is_boolean() && found->get<bool>();
  }

  double scale(const std::string& module, std::int64_t rank) const {
    const double alpha = number("alpha_pattern", module, "lora_alpha");
    const auto size = static_cast<double>(rank);
    return alpha / (flag("use_rslora") ? std::sqrt(size) : size);
  }
};

/// The base's tensor of that name in the loaded model: files may lack its first part, or have one
/// more.
const CheckpointTensor* tensor_in_base(const Model& base, const std::string& name) {
  const Checkpoint& checkpoint = base.checkpoint();
  if (const CheckpointTensor* tensor = checkpoint.find(name)) return tensor;
  for (const std::string& prefix : base.spec().architecture.prefixes) {
    if (const CheckpointTensor* tensor = checkpoint.find(prefix + name)) return tensor;
    if (!prefix.empty() && name.starts_with(prefix)) {
      if (const auto* tensor = checkpoint.find(name.substr(prefix.size()))) return tensor;
    }
  }
  return nullptr;
}

Matrix<double> matrix_of(const TensorView& view) { return decode<double>(whole_matrix(view)); }

/// W + scale · B A, in the orientation of the base's tensor.
Matrix<double> merged(const ReadAdapter& adapter, const std::string& module,
                      const CheckpointTensor& a, const CheckpointTensor& b,
                      const CheckpointTensor& weight) {
  const auto refuse = [&](const std::string& problem) {
    adapter.refuse(ErrorKind::format, b.name, problem);
  };
  const Shape &down = a.view.shape, &up = b.view.shape, &own = weight.view.shape;
  if (down.size() != 2 || up.size() != 2 || own.size() != 2 || down[0] != up[1]) {
    refuse("lora_A and lora_B are no factors of one matrix");
  }
  const bool turned = adapter.flag("fan_in_fan_out") && !weight.is_linear;
  const Shape expected = turned ? Shape{down[1], up[0]} : Shape{up[0], down[1]};
  if (own != expected) {
    refuse("makes a matrix " + shape_text(expected) + ", and the base has " + shape_text(own));
  }
  const Matrix<double> factor_a = matrix_of(a.view), factor_b = matrix_of(b.view);
  const double scale = adapter.scale(module, down[0]);
  Matrix<double> out = matrix_of(weight.view);
  for (std::int64_t row = 0; row < up[0]; ++row) {
    for (std::int64_t col = 0; col < down[1]; ++col) {
      double sum = 0;
      for (std::int64_t at = 0; at < down[0]; ++at) sum += factor_b(row, at) * factor_a(at, col);
      (turned ? out(col, row) : out(row, col)) += scale * sum;
    }
  }
  return out;
}

}  // namespace

bool is_adapter(const std::filesystem::path& folder) {
  const CheckpointFolder files(folder);
  return files.has(kAdapterConfig) && !files.has("config.json");
}

Model with_adapter(const Model& base, const std::filesystem::path& path, std::string name) {
  constexpr std::uint64_t kMaxConfig = 10'000'000;
  const CheckpointFolder folder(path);
  const std::string place = folder.place_of(kAdapterConfig);
  ReadAdapter adapter{.config = parse_json(folder.read_text(kAdapterConfig, kMaxConfig), place),
                      .files = Checkpoint::open(folder),
                      .place = path.string()};
  if (!adapter.config.is_object() || adapter.config.value("peft_type", "") != "LORA") {
    adapter.refuse(ErrorKind::unsupported, "", "holds an adapter that is no LoRA");
  }
  if (adapter.flag("use_dora")) {
    adapter.refuse(ErrorKind::unsupported, "", "holds a DoRA adapter, which is not merged yet");
  }
  ChangedModel changed(base, DType::f64);
  for (const CheckpointTensor& tensor : adapter.files.tensors()) {
    const auto unknown = [&](const std::string& problem) {
      adapter.refuse(ErrorKind::format, tensor.name, problem);
    };
    if (!tensor.name.starts_with(kBefore)) unknown("is no tensor of an adapter");
    const std::string inner = tensor.name.substr(kBefore.size());
    constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight", kBase = ".base_layer.";
    if (inner.ends_with(kA)) continue;  // with its other half
    if (inner.find(".lora_") != std::string::npos && !inner.ends_with(kB)) {
      adapter.refuse(ErrorKind::unsupported, tensor.name, "is no factor of a linear layer");
    }
    const bool factor = inner.ends_with(kB);
    std::string target = inner;
    if (factor) target = inner.substr(0, inner.size() - kB.size()) + ".weight";
    if (const auto at = target.find(kBase); at != std::string::npos) {
      target.erase(at, kBase.size() - 1);
    }
    const CheckpointTensor* own = tensor_in_base(base, target);
    if (own == nullptr) {
      // A tied head is written beside its embedding.
      if (base.spec().tied && target.starts_with("lm_head.")) continue;
      unknown("changes '" + verbatim(target) + "', which the base does not have");
    }
    if (!factor) {
      if (tensor.view.shape != own->view.shape) {
        unknown("has shape " + shape_text(tensor.view.shape) + ", and the base's " +
                shape_text(own->view.shape));
      }
      changed.put(own->name, tensor.view.shape, encoded_elements(tensor.view, DType::f64));
      continue;
    }
    const std::string module = target.substr(0, target.size() - std::string(".weight").size());
    const std::string other = std::string(kBefore) + module + std::string(kA);
    const CheckpointTensor* a = adapter.files.find(other);
    if (a == nullptr) unknown("stands without its lora_A");
    changed.put(own->name, merged(adapter, module, *a, tensor, *own).view());
  }
  return changed.open().named(std::move(name));
}

}  // namespace attnscope
