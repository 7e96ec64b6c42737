// Which files of a folder hold its weights, and in which format a file is.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/checkpoint/file_format.h"

namespace attnscope {

/// Whether it is the name of an index of shards, "….safetensors.index.json".
bool is_index(const std::filesystem::path& file);

/// The name of the weights or their index: of each format in turn the usual file, its index, or the
/// only file of its kind. Throws Error(usage) where several could be meant, Error(io) where the
/// folder holds none, Error(unsupported) where it holds only what no reader knows.
std::string find_weights(const CheckpointFolder& folder);

/// By the file's name, and its first bytes where several formats have that ending. Throws
/// Error(unsupported) where no reader knows it, Error(format) for what git keeps in place of it.
const FileFormat& format_of(const MappedFile& file);

}  // namespace attnscope
