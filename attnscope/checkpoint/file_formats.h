// The formats of checkpoint files: one reader each, one line each in file_formats().
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Bytes of another file in the same folder. The name comes from an untrusted file.
struct BytesOfOtherFile {
  std::string file;
  std::uint64_t first = 0, count = 0;
};

struct NamedTensor {
  std::string name;
  TensorView view;
  std::optional<BytesOfOtherFile> other_file = {};  // if set, `view` has no bytes yet
};

/// The result of reading a file. Views point into the file or into `memory`.
struct FileContents {
  std::vector<NamedTensor> tensors;             // ordered by the position of their bytes
  std::map<std::string, std::string> metadata;  // free texts; entries whose value names a tensor
                                                // are aliases: alias → name
  std::optional<std::string> config;  // the text of a config.json, if the file contains one
  /// Creates the text of a tokenizer.json, if the file contains a tokenizer; otherwise null. Called
  /// only on demand, while the file is open. May throw the errors of readers.
  std::function<std::string()> tokenizer;
  /// The text of a tokenizer_config.json for this tokenizer, if the file has its settings.
  std::optional<std::string> tokenizer_config = {};
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;  // unpacked bytes
  std::vector<std::string> notes;  // notes for the user, one line each
  /// The values that a training program saved next to the weights, as a JSON object; empty: none.
  std::string settings = {};
};

struct FileFormat {
  std::string_view name;                  // "safetensors"
  std::string_view usual;                 // the usual file name, tried first; empty: none
  std::vector<std::string_view> endings;  // file extensions
  /// Whether the first bytes match this format; null: the file extension decides. Readers check the
  /// rest.
  bool (*recognizes)(std::span<const std::byte> start);
  /// Checks everything except tensor data, then returns the tensors. `name`: the file's name for
  /// messages. Calls file.need() for the bytes that it reads. Throws Error(format, unsupported).
  FileContents (*read)(const MappedFile& file, std::string_view name);
  /// Returns all files of a checkpoint that is split into parts, given the name of one part. Null:
  /// a checkpoint is one file.
  std::vector<std::filesystem::path> (*parts)(const std::filesystem::path& file) = nullptr;
  /// Replaces `read` for formats whose parts must be read together. Takes all parts, in the order
  /// of `parts`, and returns the contents of each.
  std::vector<FileContents> (*read_parts)(std::span<const MappedFile> parts) = nullptr;
  /// Estimated size in bytes of a tensor's header entry, without its name and its two offsets. 0
  /// for readers that need more than the start of the file.
  std::uint64_t start_bytes_of_tensor = 0;
  bool may_bring_config = true;  // its files can contain the contents of a config.json
};

/// Ordered by preference if a folder contains several formats.
std::span<const FileFormat> file_formats();

}  // namespace attnscope
