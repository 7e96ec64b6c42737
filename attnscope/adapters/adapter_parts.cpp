#include "attnscope/adapters/adapter_parts.h"

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/model.h"

namespace attnscope {
namespace {

constexpr std::string_view kBefore = "base_model.model.", kBaseLayer = ".base_layer";

struct PartEnding {
  std::string_view part, ending;
};

constexpr std::array kLora = {PartEnding{"lora_A", ".lora_A.weight"},
                              PartEnding{"lora_B", ".lora_B.weight"},
                              PartEnding{"bias", ".lora_B.bias"},
                              PartEnding{"embedding_A", ".lora_embedding_A"},
                              PartEnding{"embedding_B", ".lora_embedding_B"},
                              PartEnding{"magnitude", ".lora_magnitude_vector"},
                              PartEnding{"magnitude", ".lora_magnitude_vector.weight"}};
constexpr std::array kAdaLora = {PartEnding{"lora_A", ".lora_A"}, PartEnding{"lora_B", ".lora_B"},
                                 PartEnding{"lora_E", ".lora_E"}};
constexpr std::array kLoha = {PartEnding{"w1_a", ".hada_w1_a"}, PartEnding{"w1_b", ".hada_w1_b"},
                              PartEnding{"w2_a", ".hada_w2_a"}, PartEnding{"w2_b", ".hada_w2_b"}};
constexpr std::array kLokr = {PartEnding{"w1", ".lokr_w1"},     PartEnding{"w1_a", ".lokr_w1_a"},
                              PartEnding{"w1_b", ".lokr_w1_b"}, PartEnding{"w2", ".lokr_w2"},
                              PartEnding{"w2_a", ".lokr_w2_a"}, PartEnding{"w2_b", ".lokr_w2_b"}};
constexpr std::array kIa3 = {PartEnding{"factors", ".ia3_l"}};
constexpr std::array kVera = {PartEnding{"lambda_b", ".vera_lambda_b"},
                              PartEnding{"lambda_d", ".vera_lambda_d"}};
constexpr std::array kOft = {PartEnding{"rotation", ".oft_R.weight"},
                             PartEnding{"embedding_rotation", ".oft_embedding_R.weight"}};
constexpr std::array kBoft = {PartEnding{"rotation", ".boft_R"}, PartEnding{"scale", ".boft_s"}};

std::span<const PartEnding> endings_of(AdapterType type) {
  switch (type) {
    case AdapterType::lora: return kLora;
    case AdapterType::adalora: return kAdaLora;
    case AdapterType::loha: return kLoha;
    case AdapterType::lokr: return kLokr;
    case AdapterType::ia3: return kIa3;
    case AdapterType::vera: return kVera;
    case AdapterType::oft: return kOft;
    case AdapterType::boft: return kBoft;
    case AdapterType::layer_norm:
    case AdapterType::trainable_tokens: return {};
  }
  return {};
}

/// Tensors of variants that are not merged, and of other types.
struct OtherPart {
  std::string_view part, kind;
};
constexpr std::array kOtherParts = {OtherPart{".lora_diag", "KaSA"},
                                    OtherPart{".lora_monteclora_sampler", "MonteCLoRA"},
                                    OtherPart{".lora_E", "AdaLoRA"},
                                    OtherPart{".hada_t1", "convolutional LoHa"},
                                    OtherPart{".hada_t2", "convolutional LoHa"},
                                    OtherPart{".lokr_t2", "convolutional LoKr"}};

constexpr std::array<std::string_view, 8> kPrefixes = {".lora_", ".hada_", ".lokr_", ".ia3_",
                                                       ".vera_", ".oft_",  ".boft_", ".ln_tuning_"};

/// Removes every ".base_layer" that wraps a tensor.
std::string without_base_layer(std::string name) {
  for (auto at = name.find(kBaseLayer); at != name.npos; at = name.find(kBaseLayer)) {
    name.erase(at, kBaseLayer.size());
  }
  return name;
}

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
    for (const auto& [module, tensors] : out_.modules) check(module, tensors);
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
    if (config_.type == AdapterType::vera) {
      if (tensor.name == "base_model.vera_A") return void(out_.vera_a = &tensor);
      if (tensor.name == "base_model.vera_B") return void(out_.vera_b = &tensor);
    }
    if (!tensor.name.starts_with(kBefore)) {
      refuse(ErrorKind::format, tensor,
             "is not an adapter tensor, expected a name that starts with '" + std::string(kBefore) +
                 "'");
    }
    const std::string name = tensor.name.substr(kBefore.size());
    const auto without = [&](std::string_view ending) {
      return name.substr(0, name.size() - ending.size());
    };
    for (const PartEnding& known : endings_of(config_.type)) {
      if (!name.ends_with(known.ending)) continue;
      if (known.part == "magnitude" && !config_.has_norms) {
        refuse(ErrorKind::format, tensor,
               "belongs to a DoRA adapter, but adapter_config.json has no use_dora");
      }
      out_.modules[without(known.ending)][known.part] = &tensor;
      return;
    }
    for (const std::string_view ending :
         {".token_adapter.trainable_tokens_delta", ".trainable_tokens_delta"}) {
      if (!name.ends_with(ending)) continue;
      out_.token_rows[without_base_layer(without(ending)) + ".weight"] = &tensor;
      return;
    }
    sort_whole(tensor, name);
  }

  void sort_whole(const CheckpointTensor& tensor, std::string name) {
    constexpr std::string_view kNorm = ".ln_tuning_layers";
    const auto norm = name.find(kNorm);
    const bool is_norm = config_.type == AdapterType::layer_norm && norm != name.npos;
    if (is_norm) {
      name.erase(norm, kNorm.size());
    } else {
      refuse_other(tensor, name);
      if (name.ends_with(".lora_velora_embed")) return;  // only used in training
    }
    const std::string target = without_base_layer(name);
    if (!out_.whole.emplace(target, &tensor).second) {
      refuse(ErrorKind::format, tensor, "replaces '" + target + "' twice");
    }
    const std::string module = target.substr(0, target.rfind('.'));
    if (is_norm && !config_.is_target(module).value_or(true)) refuse_target(tensor);
  }

  void refuse_other(const CheckpointTensor& tensor, const std::string& name) const {
    for (const OtherPart& other : kOtherParts) {
      if (name.find(other.part) == std::string::npos) continue;
      refuse(ErrorKind::unsupported, tensor,
             "belongs to a " + std::string(other.kind) + " adapter, which is not supported");
    }
    if (name.ends_with(".lora_velora_embed")) return;
    for (const std::string_view prefix : kPrefixes) {
      if (name.find(prefix) == std::string::npos) continue;
      refuse(ErrorKind::unsupported, tensor, "is not a tensor of plain " + config_.name);
    }
  }

  [[noreturn]] void refuse_target(const CheckpointTensor& tensor) const {
    refuse(ErrorKind::format, tensor,
           "belongs to a module that adapter_config.json does not adapt (target_modules, "
           "exclude_modules, layers_to_transform)");
  }

  [[noreturn]] void refuse_missing(const std::string& module, std::string_view ending,
                                   const std::string& but) const {
    throw Error(ErrorKind::format,
                {.file = files_.main_file().string(),
                 .problem = verbatim("tensor '" + std::string(kBefore) + module +
                                     std::string(ending) + "' is missing, but " + but)});
  }

  static std::vector<std::string_view> needed_parts(AdapterType type, const ModuleTensors& own) {
    const bool embeds = own.contains("embedding_A") || own.contains("embedding_B");
    const auto lokr = [&](std::string_view whole, std::string_view a, std::string_view b) {
      const bool factored = own.contains(a) || own.contains(b);
      return factored ? std::vector{a, b} : std::vector{whole};
    };
    switch (type) {
      case AdapterType::lora:
        if (embeds) return {"embedding_A", "embedding_B"};
        return {"lora_A", "lora_B"};
      case AdapterType::lokr: {
        std::vector<std::string_view> out = lokr("w1", "w1_a", "w1_b");
        for (const std::string_view part : lokr("w2", "w2_a", "w2_b")) out.push_back(part);
        return out;
      }
      case AdapterType::oft: return {};
      default: break;
    }
    std::vector<std::string_view> all;
    for (const PartEnding& known : endings_of(type)) all.push_back(known.part);
    return all;
  }

  std::string_view ending_of(std::string_view part) const {
    for (const PartEnding& known : endings_of(config_.type)) {
      if (known.part == part) return known.ending;
    }
    return "";
  }

  void check(const std::string& module, const ModuleTensors& tensors) const {
    const CheckpointTensor& any = *tensors.begin()->second;
    for (const std::string_view part : needed_parts(config_.type, tensors)) {
      if (tensors.contains(part)) continue;
      refuse_missing(module, ending_of(part), "'" + any.name + "' is present");
    }
    if (config_.type == AdapterType::lora) check_lora(module, tensors);
    const std::string loaded = without_base_layer(module);
    if (config_.adapts_parameter_of(loaded) || config_.is_target(loaded).value_or(true)) return;
    refuse_target(any);
  }

  void check_lora(const std::string& module, const ModuleTensors& tensors) const {
    const auto bias = tensors.find("bias");
    if (bias != tensors.end() && !config_.has_bias) {
      refuse(ErrorKind::format, *bias->second,
             "is a bias, but adapter_config.json has no lora_bias");
    }
    const bool embeds = tensors.contains("embedding_A");
    if (bias == tensors.end() && config_.has_bias && !embeds) {
      refuse_missing(module, ".lora_B.bias", "adapter_config.json has lora_bias");
    }
    if (config_.has_norms && !tensors.contains("magnitude")) {
      refuse_missing(module, ".lora_magnitude_vector", "adapter_config.json has use_dora");
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
