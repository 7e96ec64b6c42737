// The files of an adapter of PEFT: adapter_config.json and its weights. Source: huggingface/peft,
// utils/{constants,peft_types}.py.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

inline constexpr const char* kAdapterConfigName = "adapter_config.json";
inline constexpr std::uint64_t kMaxAdapterConfigBytes = 10'000'000;

/// The file with the weights of an adapter of PEFT; empty if the folder has none.
std::string adapter_weights(const CheckpointFolder& folder);

/// Whether the folder holds an adapter and no model. A trainer's folder may hold the base's
/// config.json too.
bool has_adapter(const CheckpointFolder& folder);

/// What PEFT calls the kind of adapter that an adapter_config.json describes: "LoRA", "DoRA",
/// "IA3", "prompt tuning".
std::string adapter_kind(const nlohmann::json& config);

}  // namespace attnscope
