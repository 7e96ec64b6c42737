#include "attnscope/features/diff/adapter_parts.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/model.h"

namespace attnscope {
namespace {

constexpr std::string_view kBefore = "base_model.model.";

struct FactorEnding {
  std::string_view ending;
  const CheckpointTensor* AdapterFactors::*member;
  bool of_embedding = false;
};

constexpr std::array kFactorEndings = {FactorEnding{".lora_A.weight", &AdapterFactors::a},
                                       FactorEnding{".lora_B.weight", &AdapterFactors::b},
                                       FactorEnding{".lora_B.bias", &AdapterFactors::bias},
                                       FactorEnding{".lora_embedding_A", &AdapterFactors::a, true},
                                       FactorEnding{".lora_embedding_B", &AdapterFactors::b, true}};

/// Tensors that other kinds of LoRA, or PEFT's helpers, store in addition to the factors.
struct OtherEnding {
  std::string_view part, kind;
};
constexpr std::array kOtherParts = {
    OtherEnding{".lora_magnitude_vector", "DoRA"}, OtherEnding{".lora_diag", "KaSA"},
    OtherEnding{".lora_monteclora_sampler", "MonteCLoRA"}, OtherEnding{".lora_E", "AdaLoRA"}};

class PartReader {
 public:
  PartReader(const Checkpoint& files, const AdapterConfig& config)
      : files_(files), config_(config) {}

  AdapterParts read() {
    if (files_.tensors().empty()) {
      throw Error(ErrorKind::format,
                  {.file = files_.main_file().string(), .problem = "contains no adapter tensors"});
    }
    for (const CheckpointTensor& tensor : files_.tensors()) sort(tensor);
    for (const auto& [module, factors] : out_.factors) check(module, factors);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(ErrorKind kind, const CheckpointTensor& tensor,
                           const std::string& problem) const {
    throw Error(kind, files_.parts_of(tensor, verbatim(problem)));
  }

  /// Every tensor is merged as real numbers.
  void check_dtype(const CheckpointTensor& tensor) const {
    const auto problem = why_not_analyzed(files_, tensor);
    if (!problem) return;
    refuse(ErrorKind::format, tensor, *problem + ", expected a floating-point dtype");
  }

  void sort(const CheckpointTensor& tensor) {
    check_dtype(tensor);
    if (!tensor.name.starts_with(kBefore)) {
      refuse(ErrorKind::format, tensor,
             "is not an adapter tensor, expected a name that starts with '" + std::string(kBefore) +
                 "'");
    }
    const std::string name = tensor.name.substr(kBefore.size());
    for (const FactorEnding& known : kFactorEndings) {
      if (!name.ends_with(known.ending)) continue;
      AdapterFactors& factors = out_.factors[name.substr(0, name.size() - known.ending.size())];
      factors.*known.member = &tensor;
      factors.of_embedding = factors.of_embedding || known.of_embedding;
      return;
    }
    for (const OtherEnding& other : kOtherParts) {
      if (name.find(other.part) == std::string::npos) continue;
      refuse(ErrorKind::unsupported, tensor,
             "belongs to a " + std::string(other.kind) + " adapter, which is not supported");
    }
    if (name.ends_with(".lora_velora_embed")) return;  // only used in training
    if (name.find(".lora_") != std::string::npos) {
      refuse(ErrorKind::unsupported, tensor, "is not a tensor of plain LoRA");
    }
    constexpr std::string_view kTokens = ".token_adapter.trainable_tokens_delta";
    if (name.ends_with(kTokens)) {
      out_.token_rows[name.substr(0, name.size() - kTokens.size()) + ".weight"] = &tensor;
      return;
    }
    constexpr std::string_view kBase = ".base_layer.";
    std::string target = name;
    if (const auto at = target.find(kBase); at != std::string::npos) {
      target.erase(at, kBase.size() - 1);
    }
    if (!out_.whole.emplace(target, &tensor).second) {
      refuse(ErrorKind::format, tensor, "replaces '" + target + "' twice");
    }
  }

  void check(const std::string& module, const AdapterFactors& factors) const {
    const CheckpointTensor* any = factors.a != nullptr   ? factors.a
                                  : factors.b != nullptr ? factors.b
                                                         : factors.bias;
    const std::string middle = factors.of_embedding ? ".lora_embedding_" : ".lora_";
    const std::string ending = factors.of_embedding ? "" : ".weight";
    for (const auto& [factor, letter] : {std::pair{factors.a, 'A'}, std::pair{factors.b, 'B'}}) {
      if (factor != nullptr) continue;
      throw Error(
          ErrorKind::format,
          {.file = files_.main_file().string(),
           .problem = verbatim("tensor '" + std::string(kBefore) + module + middle + letter +
                               ending + "' is missing, but '" + any->name + "' is present")});
    }
    if (factors.bias != nullptr && !config_.has_bias) {
      refuse(ErrorKind::format, *factors.bias,
             "is a bias, but adapter_config.json has no lora_bias");
    }
    if (factors.bias == nullptr && config_.has_bias) {
      throw Error(ErrorKind::format,
                  {.file = files_.main_file().string(),
                   .problem = verbatim("tensor '" + std::string(kBefore) + module +
                                       ".lora_B.bias' is missing, but adapter_config.json has "
                                       "lora_bias")});
    }
    const auto targeted = config_.is_target(module);
    if (targeted && !*targeted) {
      refuse(ErrorKind::format, *any,
             "belongs to a module that adapter_config.json does not adapt (target_modules, "
             "exclude_modules, layers_to_transform)");
    }
  }

  const Checkpoint& files_;
  const AdapterConfig& config_;
  AdapterParts out_;
};

}  // namespace

AdapterParts read_adapter_parts(const Checkpoint& files, const AdapterConfig& config) {
  return PartReader(files, config).read();
}

}  // namespace attnscope
