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

struct NamedTensor {
  std::string name;
  TensorView view;
};

/// What a reader finds in a file. Views point into the file or into `memory`.
struct FileContents {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // free texts; some name a tensor: alias → name
  std::optional<std::string> config;  // the text of a config.json, if the file has its own
  /// Makes the text of a tokenizer.json, if the file has one; else null. Called only when it is
  /// needed, while the file is open. May throw as readers do.
  std::function<std::string()> tokenizer;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;  // what was unpacked
  std::vector<std::string> notes;  // notes for the user, a line each
};

struct FileFormat {
  std::string_view name;                  // "safetensors"
  std::string_view usual;                 // the usual file name, looked for first; empty: none
  std::vector<std::string_view> endings;  // file endings
  /// Whether the first bytes are those of this format; null: the ending decides. Readers check the
  /// rest.
  bool (*recognizes)(std::span<const std::byte> start);
  /// Checks everything that is not tensor data, then returns the tensors. `name` is the file's, for
  /// messages. Calls file.need() for the bytes that it reads. Throws Error(format, unsupported).
  FileContents (*read)(const MappedFile& file, std::string_view name);
  /// All files of the checkpoint of which this one is a part, by its name; null: one file is all.
  std::vector<std::filesystem::path> (*parts)(const std::filesystem::path& file) = nullptr;
  /// In place of `read`, for formats whose parts must be read together: all parts, in the order of
  /// `parts`. Returns the contents of each.
  std::vector<FileContents> (*read_parts)(std::span<const MappedFile> parts) = nullptr;
  /// About what a file's start holds of each tensor beside its name and two places in the file, in
  /// bytes, where a reader needs the start alone; 0: it needs more.
  std::uint64_t start_bytes_of_tensor = 0;
  bool may_bring_config = true;  // its files can hold a config.json's content
};

/// In the order in which the files of a folder are preferred.
std::span<const FileFormat> file_formats();

}  // namespace attnscope
