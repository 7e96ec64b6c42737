// The files of one run: ensures that no input is overwritten by an output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/framework/arguments.h"

namespace attnscope {

// Identity of a file, independent of the path used to name it.

struct FileIdentity {
  std::string path;                             // without links, as far as the path exists
  std::optional<std::pair<dev_t, ino_t>> file;  // for a regular file; equal for hard links
  bool exists = false;
};

FileIdentity identity_of(const std::filesystem::path& path);

/// Whether both are the same file, which may not exist yet. Terminals and pipes are never the same
/// file, because their output is not their input.
bool is_same_file(const FileIdentity& one, const FileIdentity& other);

/// The identities of a path and of its parent folders; one of these may turn out to be a file.
/// Throws Error(io) if the path is too long for the system.
std::vector<FileIdentity> parent_identities(const std::filesystem::path& path);

/// Compares files by identity: links, other spellings and hard links refer to the same file.
/// Thread-safe.
class RunFiles {
 public:
  /// These throw Error(usage) if a file would be both read and written, or written twice. An output
  /// without a parameter is stdout.
  void add_input(const std::string& parameter, const std::filesystem::path& path);
  void add_output(const std::string& parameter, const std::filesystem::path& path);
  /// Adds the path of a model that is not open yet. Hub names are ignored.
  void add_model_name(const std::filesystem::path& path);
  /// Adds all files that the model is read from. `found_in_folder`: the folder was named, so a new
  /// file in it could be mistaken for weights later.
  void add_model(const Checkpoint& checkpoint, const std::string& name, bool found_in_folder);

  /// Throws Error(usage) if add_output() would; for files that are written at the end of the run.
  void check_output(const std::string& parameter, const std::filesystem::path& path) const;

  /// Returns the whole text of a file. Text from a pipe can be read only once, so it is kept.
  /// Throws Error(io), or Error(format) above `limit_bytes`.
  std::string read_text(const std::filesystem::path& path, std::uint64_t limit_bytes);
  /// Registers a text that is not in a file: read_text() returns it for this path.
  void keep_text(const std::filesystem::path& path, std::string text);

 private:
  struct Output {
    std::string parameter;
    std::filesystem::path path;
    std::vector<FileIdentity> parent_folders;  // the file itself and its parent folders
  };
  struct Input {
    FileIdentity identity;
    std::string what;  // "the file passed to {layout}"
  };
  void check(const Output& output) const;
  void add(const std::filesystem::path& path, const std::string& what);

  mutable std::mutex mutex_;
  std::vector<Output> outputs_;
  std::map<std::filesystem::path, Input> inputs_;               // by path as given
  std::map<std::filesystem::path, std::string> model_folders_;  // and the name of the model
  std::vector<std::filesystem::path> named_folders_;  // folders of models that are not open
  std::map<std::filesystem::path, std::string> kept_;
};

/// The files that the arguments name. Throws Error(usage) as above, and if an output has the file
/// extension of an unsuitable format.
std::shared_ptr<RunFiles> files_of(std::span<const Parameter> parameters,
                                   const Arguments& arguments);

// Texts from a pipe, a terminal or another device.

/// Whether the contents can be read only once.
bool is_pipe(const std::filesystem::path& path);

/// Reads until the end. Throws Error(io), or Error(format) above `limit_bytes`. Refuses devices
/// other than a terminal or /dev/null before reading, because /dev/zero and /dev/urandom have no
/// end.
std::string read_pipe(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
