// Which files of a folder hold its weights, and in which format a file is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Whether the name is that of an index of shards, "….safetensors.index.json".
bool is_index(const std::filesystem::path& file);

/// The name of the weights or their index: for each format in turn, the usual file, its index, or
/// the only file of its kind. Throws Error(usage) if several files are possible, Error(io) if there
/// is none, Error(unsupported) if there are only files that no reader knows.
std::string find_weights(const CheckpointFolder& folder);

/// Decides by the file's name, and by its first bytes if several formats have that ending. Throws
/// Error(unsupported) if no reader knows it, Error(format) for a Git LFS pointer.
const FileFormat& format_of(const MappedFile& file);

// model.safetensors.index.json: which shard holds which tensor.

/// The largest index that is read.
inline constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

/// Tensor name → shard file name, a plain name beside the index.
/// Throws Error(format) for anything else, a path out of the folder among them.
std::map<std::string, std::string> parse_shard_index(std::string_view text, std::string_view where);

}  // namespace attnscope
