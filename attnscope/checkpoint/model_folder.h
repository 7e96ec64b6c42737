// The files of a model's folder: which are read, and what an additional file would change.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// The files that are read beside the weights, if they exist: the configuration and the tokenizer.
std::span<const std::string_view> companion_files();

/// The shards that an index in the folder names. Empty if `weights` is not an index.
std::vector<std::string> shards_of(const CheckpointFolder& folder, const std::string& weights);

/// The local files that the checkpoint is read from, and those that opening it would look for,
/// whether they exist or not.
std::vector<std::filesystem::path> paths_of(const Checkpoint& checkpoint);

/// Whether a new file of that name would make the folder open as other weights, or not at all.
bool changes_weights(const CheckpointFolder& folder, const std::string& name);

/// How files of weights end: ".safetensors", ".bin", …
std::vector<std::string> weight_endings();

}  // namespace attnscope
