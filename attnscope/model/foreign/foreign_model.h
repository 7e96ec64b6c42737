// Shared by the readers of foreign checkpoints.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// A checkpoint as transformers would have written it.
struct ForeignModel {
  std::string config;  // the text of a config.json
  std::vector<CheckpointTensor> tensors;
};

/// Returns nothing if another program wrote the checkpoint. `settings`: the values next to the
/// weights in a file of torch.save.
using ReadForeign = std::optional<ForeignModel> (*)(const Checkpoint& checkpoint,
                                                    const nlohmann::json& settings);

std::optional<ForeignModel> read_nanogpt(const Checkpoint& checkpoint,
                                         const nlohmann::json& settings);
std::optional<ForeignModel> read_whisper_pt(const Checkpoint& checkpoint,
                                            const nlohmann::json& settings);
std::optional<ForeignModel> read_consolidated(const Checkpoint& checkpoint,
                                              const nlohmann::json& settings);
std::optional<ForeignModel> read_litgpt(const Checkpoint& checkpoint,
                                        const nlohmann::json& settings);
std::optional<ForeignModel> read_fairseq(const Checkpoint& checkpoint,
                                         const nlohmann::json& settings);
std::optional<ForeignModel> read_open_clip(const Checkpoint& checkpoint,
                                           const nlohmann::json& settings);
std::optional<ForeignModel> read_timm_vit(const Checkpoint& checkpoint,
                                          const nlohmann::json& settings);

/// Whether LitGPT wrote the checkpoint. Its folder may contain the config.json of the original
/// model.
bool is_litgpt(const Checkpoint& checkpoint);

// Building blocks.

/// Names of modules, here and in transformers; `{layer}` stands for a number.
using ModuleRenames = std::vector<std::pair<std::string, std::string>>;

/// Returns the tensor's name in transformers: that of its module, then "weight" or "bias". Nothing
/// for a module that is not listed.
std::optional<std::string> renamed(std::string_view name, const ModuleRenames& modules);

/// The number of layers, from a pattern of a tensor's name.
std::int64_t count_layers(const Checkpoint& checkpoint, std::string_view pattern);

/// Rows (first axis) of a tensor. Throws Error(format) if it has fewer, or is not row-major.
CheckpointTensor rows_of(const Checkpoint& checkpoint, const CheckpointTensor& fused,
                         std::string name, std::int64_t first, std::int64_t count);

/// Part `index` of `count` equal parts of the first axis. Throws Error(format) if the size does not
/// divide.
CheckpointTensor part_of(const Checkpoint& checkpoint, const CheckpointTensor& fused,
                         std::string name, std::int64_t index, std::int64_t count);

/// Returns a whole number from 1 of the settings. Throws Error(format) that names `place`.
std::int64_t size_in(const nlohmann::json& settings, const char* key, const std::string& place);

/// Returns the JSON object in a file of the folder; null if there is none.
nlohmann::json settings_file(const Checkpoint& checkpoint, const char* name);

/// Throws Error(unsupported) that names the tensor.
[[noreturn]] void refuse_foreign(const Checkpoint& checkpoint, std::string_view tensor,
                                 const std::string& program);

}  // namespace attnscope
