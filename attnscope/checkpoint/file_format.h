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

/// What a reader finds in a file. Views point into the file, or into `memory`.
struct FileContents {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // free texts; some name a tensor: alias → name
  std::optional<std::string> config;  // the text of a config.json, where the file has its own
  /// Makes that of a tokenizer.json, likewise, while the file is open: few commands want it. May
  /// throw as readers do. Null: none.
  std::function<std::string()> tokenizer;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;  // what had to be unpacked
  std::vector<std::string> notes;  // what the user should know of the file, a line each
};

struct FileFormat {
  std::string_view name;                  // "safetensors"
  std::string_view usual;                 // the file of a folder that is looked for first, or none
  std::vector<std::string_view> endings;  // of its files
  /// Whether a file that starts so is one; null: its ending says it all. Readers check the rest.
  bool (*recognises)(std::span<const std::byte> start);
  /// Checks everything that is not tensor data before any tensor is believed. `name` is the file's,
  /// for messages. Calls file.need() for what it looks at. Throws Error(format, unsupported).
  FileContents (*read)(const MappedFile& file, std::string_view name);
  /// All files of the checkpoint that this one is a part of, by its name; null: it is alone.
  std::vector<std::filesystem::path> (*parts)(const std::filesystem::path& file) = nullptr;
  /// In place of `read`, where parts only mean something together: all of them, in the order of
  /// `parts`, to the contents of each.
  std::vector<FileContents> (*read_parts)(std::span<const MappedFile> parts) = nullptr;
  bool may_bring_config = true;  // its files can say what a config.json would
};

/// In the order in which the files of a folder are preferred.
std::span<const FileFormat> file_formats();

}  // namespace attnscope
