// A checkpoint: the tensors of one model, in whatever files they are stored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/mapped_file.h"

namespace attnscope {

/// A tensor and the file that contains it.
struct CheckpointTensor {
  std::string name;
  TensorView view;
  std::size_t file = 0;    // index into the checkpoint's files
  bool is_linear = false;  // (outputs, inputs) even if the architecture stores the transpose
};

/// Tensors in the memory of a program, instead of files.
struct TensorsInMemory {
  std::string name;                                  // the name in messages
  std::vector<NamedTensor> tensors;                  // every element must lie in its bytes
  std::shared_ptr<const void> owner;                 // keeps the bytes alive
  std::optional<std::string> config;                 // the text of a config.json
  std::optional<std::string> tokenizer;              // the text of a tokenizer.json
  std::optional<std::string> tokenizer_config = {};  // the text of a tokenizer_config.json
};

/// Owns the mapped files; move-only. Views of its tensors are valid as long as it exists.
class Checkpoint {
 public:
  /// `path`: a folder with weights, a file in one of file_formats(), or an index of such files.
  /// Throws Error(io), Error(format), or Error(unsupported) for formats without a reader.
  static Checkpoint open(const std::filesystem::path& path);

  /// `weights`: a file of the folder, or an index; empty: the result of find_weights().
  static Checkpoint open(const CheckpointFolder& folder, std::string weights = "");

  /// The tensors are read in place, never copied or modified.
  static Checkpoint in_memory(TensorsInMemory memory);

  /// Combines the parts of each quantized weight into one tensor; see composed_tensors().
  void compose_quantized(std::string_view method, std::string_view config,
                         std::string_view config_file);

  /// Replaces the list of tensors. Their bytes must lie in the checkpoint's files.
  void replace_tensors(std::vector<CheckpointTensor> tensors);

  /// Replaces the text of the config.json that describes the model.
  void use_config(std::string text);

  /// Appends the files of a PEFT adapter to files(), and keeps `memory` alive, because tensors may
  /// refer to both.
  void take_files(Checkpoint adapter,
                  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory);

  /// The folder of an adapter whose files were added.
  const std::optional<CheckpointFolder>& adapter_folder() const { return adapter_folder_; }

  /// Removes the prefix from tensor names, with a warning. Names without it stay. Throws
  /// Error(format) if two tensors get the same name. An empty prefix changes nothing.
  void leave_out_prefix(const std::string& prefix);

  /// Sorted by file, then by position in the file. Aliases are not listed.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }

  /// Returns the tensor with that name or alias; null if there is none.
  const CheckpointTensor* find(std::string_view name) const;

  /// Returns the tensor of the first of these names that exists; null if none exists.
  const CheckpointTensor* find_first(std::span<const std::string> names) const;

  /// Alternative names of tensors, from the files' metadata: alias → name.
  const std::map<std::string, std::string, std::less<>>& aliases() const { return aliases_; }

  /// The text of a config.json inside the weights file. folder() also returns it, and the
  /// tokenizer.json of such a file.
  const std::optional<std::string>& config() const { return config_; }

  /// What a training program saved next to the weights, as a JSON object; empty: nothing.
  const std::string& settings() const { return settings_; }

  /// Contains one warning per tensor on which index and shards disagree (the tensors of both are
  /// used). Contains one warning per missing shard if at least one shard exists, and the notes of
  /// readers.
  const std::vector<ErrorParts>& warnings() const { return warnings_; }

  /// For a tensor that is in the index but in no shard, returns ": the index assigns it to FILE,
  /// which does not contain it" (or "which is missing"). Empty for other names.
  std::string missing_note(std::string_view name) const;

  /// The folder with config.json, and the file or index that was opened.
  const CheckpointFolder& folder() const { return folder_; }
  const std::filesystem::path& main_file() const { return main_file_; }
  std::uint64_t file_bytes() const;

  /// CheckpointTensor::file is an index into these.
  const std::vector<MappedFile>& files() const { return files_; }

  /// Throws Error(io) if the tensor's file was truncated since it was opened. Call it after reading
  /// bytes.
  void check_intact(const CheckpointTensor& tensor) const;

  /// Whether some files are remote.
  bool is_remote() const;

  /// Whether the tensors are in memory, without files. Then only their bytes show whether they have
  /// changed.
  bool is_in_memory() const { return owner_ != nullptr; }

  /// Waits until these bytes of the files are readable; returns at once for local files. Call it
  /// before reading bytes. Throws Error(io) if they cannot be fetched.
  void need(std::span<const std::span<const std::byte>> parts) const;
  void need(const CheckpointTensor& tensor) const;

  /// Starts to fetch bytes that will be needed soon; does not wait.
  void prefetch(std::span<const std::span<const std::byte>> parts) const;

  /// Hints that the tensor's bytes will not be read soon.
  void release(const CheckpointTensor& tensor) const;

  /// Returns "FILE: tensor 'NAME'", for messages.
  std::string place_of(const CheckpointTensor& tensor) const;

  /// Returns the parts of an error about the tensor.
  ErrorParts parts_of(const CheckpointTensor& tensor, std::string problem,
                      std::string hint = "") const;

 private:
  /// Opens the file and all others that belong to it.
  void open_parts(const CheckpointFolder& folder, const std::string& name);
  void add_file(MappedFile file);
  void add_contents(MappedFile file, FileContents contents);
  /// Opens the file that stores the bytes, unless it is already open, and sets the tensor's bytes.
  void find_bytes(CheckpointTensor& tensor, const BytesOfOtherFile& place,
                  std::map<std::string, std::size_t>& opened);
  /// Prefers the config and tokenizer inside the weights file to files in its folder.
  void use_own_texts();
  void warn(const CheckpointTensor& tensor, const std::string& problem);
  void open_sharded(const CheckpointFolder& folder);
  void open_distributed(const CheckpointFolder& folder);
  /// `shard_of`: the contents of the index, empty for a single file.
  void index_names(const std::map<std::string, std::string>& shard_of);
  void index_tensors();

  CheckpointFolder folder_;
  std::optional<CheckpointFolder> adapter_folder_;
  std::filesystem::path main_file_;
  std::vector<MappedFile> files_;
  std::vector<CheckpointTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::string, std::less<>> aliases_;
  // tensor → shard according to the index
  std::map<std::string, std::string, std::less<>> missing_;
  std::set<std::string, std::less<>> absent_shards_;
  std::vector<ErrorParts> warnings_;
  std::optional<std::string> config_;
  std::string settings_;
  std::function<std::string()> tokenizer_;
  std::optional<std::string> tokenizer_config_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory_;
  std::shared_ptr<const void> owner_;  // for tensors in the program's memory
};

}  // namespace attnscope
