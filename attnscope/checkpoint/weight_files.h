// The files of a checkpoint's folder: which hold its weights, in which format a file is, and which
// others are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Whether the name is that of an index of shards, "….safetensors.index.json".
bool is_index(const std::filesystem::path& file);

/// The name of the weights or their index: for each format in turn, the usual file, its index, or
/// the only file of its kind. Throws Error(usage) if several files are possible, Error(io) if there
/// is none, Error(unsupported) if there are only files that no reader knows.
std::string find_weights(const CheckpointFolder& folder);

/// Whether a new file of that name would make the folder open as other weights, or not at all.
bool changes_weights(const CheckpointFolder& folder, const std::string& name);

/// Decides by the file's name, and by its first bytes if several formats have that ending. Throws
/// Error(unsupported) if no reader knows it, Error(format) for a Git LFS pointer.
const FileFormat& format_of(const MappedFile& file);

/// How files of weights end: ".safetensors", ".bin", …
std::vector<std::string> weight_endings();

/// The files that are read next to the weights, if they exist: the configuration and the tokenizer.
std::span<const std::string_view> companion_files();

/// The local files that the checkpoint is read from, and those that opening it would look for,
/// whether they exist or not.
std::vector<std::filesystem::path> paths_of(const Checkpoint& checkpoint);

// model.safetensors.index.json: which shard holds which tensor.

/// The largest index that is read.
inline constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

/// Tensor name → shard file name, a plain name beside the index.
/// Throws Error(format) for anything else, a path out of the folder among them.
std::map<std::string, std::string> parse_shard_index(std::string_view text, std::string_view where);

/// The shards that an index in the folder names. Empty if `weights` is not an index.
std::vector<std::string> shards_of(const CheckpointFolder& folder, const std::string& weights);

}  // namespace attnscope
