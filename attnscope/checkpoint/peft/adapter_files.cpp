#include "attnscope/checkpoint/peft/adapter_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {
namespace {

struct AdapterKind {
  std::string_view key, name;
};

/// Values of peft_type, and the names of the methods in papers.
constexpr std::array kPeftTypes = {
    AdapterKind{"LORA", "LoRA"},
    AdapterKind{"ADALORA", "AdaLoRA"},
    AdapterKind{"ADAPTION_PROMPT", "LLaMA-Adapter"},
    AdapterKind{"BONE", "Bone"},
    AdapterKind{"C3A", "C³A"},
    AdapterKind{"DELORA", "DeLoRA"},
    AdapterKind{"FOURIERFT", "FourierFT"},
    AdapterKind{"GLORA", "GLoRA"},
    AdapterKind{"GRALORA", "GraLoRA"},
    AdapterKind{"HIRA", "HiRA"},
    AdapterKind{"LN_TUNING", "LayerNorm tuning"},
    AdapterKind{"LOHA", "LoHa"},
    AdapterKind{"LOKR", "LoKr"},
    AdapterKind{"MISS", "MiSS"},
    AdapterKind{"MULTITASK_PROMPT_TUNING", "multitask prompt tuning"},
    AdapterKind{"POLY", "Polytropon"},
    AdapterKind{"PREFIX_TUNING", "prefix tuning"},
    AdapterKind{"PROMPT_TUNING", "prompt tuning"},
    AdapterKind{"P_TUNING", "P-tuning"},
    AdapterKind{"RANDLORA", "RandLoRA"},
    AdapterKind{"ROAD", "RoAd"},
    AdapterKind{"SHIRA", "SHiRA"},
    AdapterKind{"TINYLORA", "TinyLoRA"},
    AdapterKind{"TRAINABLE_TOKENS", "trainable tokens"},
    AdapterKind{"UNILORA", "UniLoRA"},
    AdapterKind{"VBLORA", "VB-LoRA"},
    AdapterKind{"VERA", "VeRA"},
    AdapterKind{"PVERA", "pVeRA"},
    AdapterKind{"WAVEFT", "WaveFT"},
    AdapterKind{"XLORA", "X-LoRA"}};

/// Keys of the config that turn a LoRA into a variant with its own name.
constexpr std::array kLoraVariants = {AdapterKind{"use_dora", "DoRA"},
                                      AdapterKind{"use_qalora", "QA-LoRA"},
                                      AdapterKind{"use_bdlora", "BD-LoRA"},
                                      AdapterKind{"kasa_config", "KaSA"},
                                      AdapterKind{"alora_invocation_tokens", "aLoRA"},
                                      AdapterKind{"arrow_config", "Arrow"},
                                      AdapterKind{"monteclora_config", "MonteCLoRA"}};

bool is_set(const nlohmann::json& config, std::string_view key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return false;
  return !found->is_boolean() || found->get<bool>();
}

}  // namespace

std::string adapter_weights(const CheckpointFolder& folder) {
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"}) {
    if (folder.has(name)) return name;
  }
  return "";
}

bool has_adapter(const CheckpointFolder& folder) {
  if (!folder.has(kAdapterConfigName)) return false;
  if (!folder.has("config.json")) return true;
  const std::string own = adapter_weights(folder);
  if (own.empty()) return false;
  try {
    return find_weights(folder) == own;
  } catch (const Error&) {
    return true;  // no model weights, or several files without an index
  }
}

std::string adapter_kind(const nlohmann::json& config) {
  const auto type = config.is_object() ? config.find("peft_type") : config.end();
  if (!config.is_object() || type == config.end() || !type->is_string()) return "unknown type";
  const auto name = type->get<std::string>();
  if (name == "LORA") {
    for (const AdapterKind& variant : kLoraVariants) {
      if (is_set(config, variant.key)) return std::string(variant.name);
    }
  }
  for (const AdapterKind& kind : kPeftTypes) {
    if (name == kind.key) return std::string(kind.name);
  }
  return name;
}

}  // namespace attnscope
