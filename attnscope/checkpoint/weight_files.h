// The files of a checkpoint's folder: which contain the weights, which format a file has, and which
// other files are read.
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

/// Returns the name of the weights file or its index. Tries, for each format in turn, the usual
/// file, its index, and the only file with the extension. Throws Error(usage) if several files are
/// possible, Error(io) if there is none, and Error(unsupported) if no reader supports the format.
std::string find_weights(const CheckpointFolder& folder);

/// Whether a new file of that name would change which weights the folder opens, or prevent opening
/// it.
bool changes_weights(const CheckpointFolder& folder, const std::string& name);

/// Decides by the file extension, and by the first bytes if several formats share the extension.
/// Throws Error(unsupported) if no reader supports the file, Error(format) for a Git LFS pointer.
const FileFormat& format_of(const MappedFile& file);

/// File extensions of weights: ".safetensors", ".bin", …
std::vector<std::string> weight_endings();

/// The files that are read next to the weights, if they exist: configuration and tokenizer.
std::span<const std::string_view> companion_files();

/// Makes Google's bert_config.json, which does not name its model, the config.json of a folder that
/// has none.
void bring_google_config(CheckpointFolder& folder);

/// Returns the local files from which the checkpoint is read, and those that opening it would look
/// for, even if they do not exist.
std::vector<std::filesystem::path> paths_of(const Checkpoint& checkpoint);

// Checkpoints that are split for model parallelism: consolidated.00.pth, consolidated.01.pth, …

/// Returns the parts of the folder after the first one; empty for other files.
std::vector<std::string> later_parts(const CheckpointFolder& folder, const std::string& weights);

/// The name under which a checkpoint lists a tensor of a later part, counted from 1.
std::string part_name(std::string_view tensor, std::size_t part);
bool is_later_part(std::string_view tensor);

// model.safetensors.index.json: which shard contains which tensor.

/// Whether the text names a file or folder next to the file that contains it, and cannot point
/// elsewhere.
bool is_plain_file_name(std::string_view name);

/// The maximum size of an index.
inline constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

/// Returns tensor name → shard file name, a plain name in the folder of the index. Throws
/// Error(format) for anything else, including paths out of the folder.
std::map<std::string, std::string> parse_shard_index(std::string_view text, std::string_view where);

/// Returns the shards that an index in the folder lists; nothing for other files.
std::vector<std::string> shards_of(const CheckpointFolder& folder, const std::string& weights);

}  // namespace attnscope
