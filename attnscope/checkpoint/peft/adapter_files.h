// The files of a PEFT adapter: adapter_config.json and its weights. Source: huggingface/peft,
// utils/{constants,peft_types}.py.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

inline constexpr const char* kAdapterConfigName = "adapter_config.json";
inline constexpr std::uint64_t kMaxAdapterConfigBytes = 10'000'000;

/// Returns the weights file of a PEFT adapter; empty if the folder has none.
std::string adapter_weights(const CheckpointFolder& folder);

/// Whether the folder contains an adapter and no model. A trainer's folder may also contain the
/// base model's config.json.
bool has_adapter(const CheckpointFolder& folder);

/// Returns PEFT's name for the adapter type in an adapter_config.json: "LoRA", "DoRA", "IA3",
/// "prompt tuning".
std::string adapter_kind(const nlohmann::json& config);

/// Throws Error(unsupported) for an adapter of a type that cannot be merged into its base, with the
/// next step. `config`: an adapter_config.json, `file` its name.
[[noreturn]] void refuse_adapter_type(const nlohmann::json& config, const std::string& file);

}  // namespace attnscope
