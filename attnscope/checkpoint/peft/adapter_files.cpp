#include "attnscope/checkpoint/peft/adapter_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {
namespace {

/// Why adapters of a type cannot be merged, and what the user can do.
enum class Next {
  merges,    // they can
  converts,  // PEFT's save_as_lora
  tokens,    // adds virtual tokens to the inputs
  mixes,     // depends on the input
  other
};

struct AdapterKind {
  std::string_view key, name;
  Next next = Next::other;
};

/// Values of peft_type, and the names of the methods in papers.
constexpr std::array kPeftTypes = {
    AdapterKind{"LORA", "LoRA", Next::merges},
    AdapterKind{"ADALORA", "AdaLoRA", Next::merges},
    AdapterKind{"ADAMSS", "AdaMSS"},
    AdapterKind{"ADAPTION_PROMPT", "LLaMA-Adapter", Next::tokens},
    AdapterKind{"BEFT", "BEFT"},
    AdapterKind{"BOFT", "BOFT", Next::merges},
    AdapterKind{"BONE", "Bone"},
    AdapterKind{"C3A", "C³A", Next::converts},
    AdapterKind{"CARTRIDGE", "Cartridge", Next::tokens},
    AdapterKind{"CPT", "context-aware prompt tuning", Next::tokens},
    AdapterKind{"DEFT", "DEFT"},
    AdapterKind{"DELORA", "DeLoRA", Next::converts},
    AdapterKind{"FOURIERFT", "FourierFT", Next::converts},
    AdapterKind{"FROD", "FRoD"},
    AdapterKind{"GLORA", "GLoRA"},
    AdapterKind{"GRALORA", "GraLoRA", Next::converts},
    AdapterKind{"HIRA", "HiRA"},
    AdapterKind{"HRA", "HRA"},
    AdapterKind{"IA3", "IA3", Next::merges},
    AdapterKind{"LILY", "Lily"},
    AdapterKind{"LN_TUNING", "LayerNorm tuning", Next::merges},
    AdapterKind{"LOHA", "LoHa", Next::merges},
    AdapterKind{"LOKR", "LoKr", Next::merges},
    AdapterKind{"MISS", "MiSS", Next::converts},
    AdapterKind{"MULTITASK_PROMPT_TUNING", "multitask prompt tuning", Next::tokens},
    AdapterKind{"OFT", "OFT", Next::merges},
    AdapterKind{"OSF", "OSF"},
    AdapterKind{"PEANUT", "PEANuT"},
    AdapterKind{"POLY", "Polytropon", Next::mixes},
    AdapterKind{"PREFIX_TUNING", "prefix tuning", Next::tokens},
    AdapterKind{"PROMPT_TUNING", "prompt tuning", Next::tokens},
    AdapterKind{"PSOFT", "PSOFT", Next::converts},
    AdapterKind{"PVERA", "pVeRA"},
    AdapterKind{"P_TUNING", "P-tuning", Next::tokens},
    AdapterKind{"RANDLORA", "RandLoRA", Next::converts},
    AdapterKind{"ROAD", "RoAd"},
    AdapterKind{"SHADOW", "Shadow"},
    AdapterKind{"SHIRA", "SHiRA"},
    AdapterKind{"SUPERTUNING", "SuperTuning"},
    AdapterKind{"TINYLORA", "TinyLoRA", Next::converts},
    AdapterKind{"TRAINABLE_TOKENS", "trainable tokens", Next::merges},
    AdapterKind{"UNILORA", "UniLoRA", Next::converts},
    AdapterKind{"VBLORA", "VB-LoRA", Next::converts},
    AdapterKind{"VERA", "VeRA", Next::merges},
    AdapterKind{"WAVEFT", "WaveFT", Next::converts},
    AdapterKind{"XLORA", "X-LoRA", Next::mixes}};

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

void refuse_adapter_type(const nlohmann::json& config, const std::string& file) {
  const std::string name = adapter_kind(config);
  const auto type = config.is_object() ? config.find("peft_type") : config.end();
  const std::string key = config.is_object() && type != config.end() && type->is_string()
                              ? type->get<std::string>()
                              : "";
  Next next = Next::other;
  for (const AdapterKind& kind : kPeftTypes) {
    if (key == kind.key) next = kind.next;
  }
  std::string problem = "is an adapter of a type that is not supported: " + name;
  std::string hint = "merge it with PEFT (merge_and_unload) and save the model";
  if (next == Next::tokens) {
    problem = "is not merged: " + name + " adds virtual tokens, and changes no weights";
    hint = "pass the base model alone";
  } else if (next == Next::mixes) {
    problem = "is not merged: " + name + " mixes several adapters for each input";
    hint = "pass one of its LoRA adapters";
  } else if (next == Next::converts) {
    hint = "convert it with PEFT's save_as_lora";
  }
  throw Error(ErrorKind::unsupported,
              {.file = file, .problem = verbatim(problem), .hint = std::move(hint)});
}

}  // namespace attnscope
