// A checkpoint: the tensors of one model, whatever files hold them.
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

/// A tensor and the file that holds it.
struct CheckpointTensor {
  std::string name;
  TensorView view;
  std::size_t file = 0;    // index into the checkpoint's files
  bool is_linear = false;  // (outputs, inputs) even if the architecture stores the transpose
};

/// Tensors that a program has in memory, in place of files.
struct TensorsInMemory {
  std::string name;                      // what messages call it
  std::vector<NamedTensor> tensors;      // every element must lie in its bytes
  std::shared_ptr<const void> owner;     // keeps the bytes alive
  std::optional<std::string> config;     // the text of a config.json
  std::optional<std::string> tokenizer;  // of a tokenizer.json
};

/// Owns the mapped files; move-only. Views of its tensors live as long as it does.
class Checkpoint {
 public:
  /// `path`: a folder with weights, a file of one of file_formats(), or an index of such.
  /// Throws Error(io), Error(format), or Error(unsupported) for formats that no reader knows.
  static Checkpoint open(const std::filesystem::path& path);

  /// `weights`: a file of the folder, or an index; empty: whatever find_weights() finds.
  static Checkpoint open(const CheckpointFolder& folder, std::string weights = "");

  /// Its tensors are read in place, never copied or written to.
  static Checkpoint in_memory(TensorsInMemory memory);

  /// Makes one tensor of the parts of each quantised weight; see composed_tensors().
  void compose_quantized(std::string_view method, std::string_view config,
                         std::string_view config_file);

  /// Lists these in place of its own tensors. Their bytes must lie in its files.
  void replace_tensors(std::vector<CheckpointTensor> tensors);

  /// Sorted by file, then by place in the file. Aliases are not listed.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }

  /// The tensor with that name or alias; null if there is none.
  const CheckpointTensor* find(std::string_view name) const;

  /// The tensor of the first of these names that the files hold; null if they hold none.
  const CheckpointTensor* find_first(std::span<const std::string> names) const;

  /// Other names of tensors, from the files' metadata: alias → name.
  const std::map<std::string, std::string, std::less<>>& aliases() const { return aliases_; }

  /// The text of a config.json that the weights' own file holds. folder() returns it too, and also
  /// the tokenizer.json of such a file.
  const std::optional<std::string>& config() const { return config_; }

  /// One warning for each tensor on which index and shards disagree (the tensors are the union of
  /// both), one for each missing shard if at least one is there, and the notes of readers.
  const std::vector<ErrorParts>& warnings() const { return warnings_; }

  /// For a tensor that the index names and no shard holds: ": the index puts it in FILE, which
  /// lacks it" (or "is missing"). Empty for other names.
  std::string missing_note(std::string_view name) const;

  /// The folder with config.json, and the file or index that was opened.
  const CheckpointFolder& folder() const { return folder_; }
  const std::filesystem::path& main_file() const { return main_file_; }
  std::uint64_t file_bytes() const;

  /// CheckpointTensor::file is an index into these.
  const std::vector<MappedFile>& files() const { return files_; }

  /// Throws Error(io) if the tensor's file was cut since it was opened. Call after reading bytes.
  void check_intact(const CheckpointTensor& tensor) const;

  /// Whether some of its files are not on this machine.
  bool is_remote() const;

  /// Whether its tensors are in memory, without files. Then only their bytes tell whether they have
  /// changed.
  bool is_in_memory() const { return owner_ != nullptr; }

  /// Waits until these bytes of the files can be read; returns at once for files on this machine.
  /// Call before reading bytes. Throws Error(io) if they cannot be fetched.
  void need(std::span<const std::span<const std::byte>> parts) const;
  void need(const CheckpointTensor& tensor) const;

  /// Starts to fetch bytes that are needed soon; does not wait.
  void prefetch(std::span<const std::span<const std::byte>> parts) const;

  /// Says that the tensor's bytes will not be read soon.
  void release(const CheckpointTensor& tensor) const;

  /// "FILE: tensor 'NAME'", for messages.
  std::string place_of(const CheckpointTensor& tensor) const;

  /// The parts of an error about the tensor.
  ErrorParts parts_of(const CheckpointTensor& tensor, std::string problem,
                      std::string hint = "") const;

 private:
  /// Opens the file and all others that belong to it.
  void open_parts(const CheckpointFolder& folder, const std::string& name);
  void add_file(MappedFile file);
  void add_contents(MappedFile file, FileContents contents);
  /// Prefers the config and tokenizer of the weights' own file to files beside it.
  void use_own_texts();
  void warn(const CheckpointTensor& tensor, const std::string& problem);
  void open_sharded(const CheckpointFolder& folder);
  /// `shard_of`: what the index says, empty for a single file.
  void index_names(const std::map<std::string, std::string>& shard_of);
  void index_tensors();

  CheckpointFolder folder_;
  std::filesystem::path main_file_;
  std::vector<MappedFile> files_;
  std::vector<CheckpointTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::map<std::string, std::string, std::less<>> missing_;  // tensor → shard the index names
  std::set<std::string, std::less<>> absent_shards_;
  std::vector<ErrorParts> warnings_;
  std::optional<std::string> config_;
  std::function<std::string()> tokenizer_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory_;
  std::shared_ptr<const void> owner_;  // of the program's own memory
};

}  // namespace attnscope
