// The files of a model's folder: which of them are read, and what another one would change.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// What is read beside the weights, of those that are there: the configuration and the tokenizer.
std::span<const std::string_view> companion_files();

/// The shards that an index in the folder names. Empty where `weights` is no index.
std::vector<std::string> shards_of(const CheckpointFolder& folder, const std::string& weights);

/// Files of this machine that the checkpoint is read from, and those that opening it again looks
/// for, whether they are there or not.
std::vector<std::filesystem::path> paths_of(const Checkpoint& checkpoint);

/// Whether the folder would open as other weights, or as none, if it held a file of that name too.
bool changes_weights(const CheckpointFolder& folder, const std::string& name);

/// How files of weights end: ".safetensors", ".bin", …
std::vector<std::string> weight_endings();

}  // namespace attnscope
