// The files of one run: what it reads, and where it writes, which is never the same.
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

// What a path leads to, whatever it is called.

struct FileIdentity {
  std::string path;                             // without links, as far as there is something
  std::optional<std::pair<dev_t, ino_t>> file;  // of a regular file: a hard link's is the same
  bool exists = false;
};

FileIdentity identity_of(const std::filesystem::path& path);

/// Whether both are one file, which may not be there yet. Of a terminal or a pipe what is written
/// is nothing that was read, so these are none.
bool is_same_file(const FileIdentity& one, const FileIdentity& other);

/// A path and the folders that it lies in: where one of these is a file, it lies under its name.
/// Throws Error(io) if the path is longer than the system takes.
std::vector<FileIdentity> parent_identities(const std::filesystem::path& path);

/// Files are compared by what they are: a link, another spelling or a second name is the same file.
/// Threads may share it.
class RunFiles {
 public:
  /// These throw Error(usage) where one file would be both read and written, or written twice.
  /// An output without a parameter is stdout.
  void add_input(const std::string& parameter, const std::filesystem::path& path);
  void add_output(const std::string& parameter, const std::filesystem::path& path);
  /// The path of a model that is not open yet; of names on the hub nothing is known.
  void add_model_name(const std::filesystem::path& path);
  /// All that the model is read from. `found_in_folder`: its folder was named, so that a file which
  /// is written there could be taken for its weights another time.
  void add_model(const Checkpoint& checkpoint, const std::string& name, bool found_in_folder);

  /// Throws Error(usage) where add_output() would: for what is written when the run is over.
  void check_output(const std::string& parameter, const std::filesystem::path& path) const;

  /// The whole of a text. What comes through a pipe can be read once, and is kept. Throws
  /// Error(io), or Error(format) above `limit_bytes`.
  std::string read_text(const std::filesystem::path& path, std::uint64_t limit_bytes);
  /// A text that is at hand, and in no file: read_text() gives it, whatever lies at the path.
  void keep_text(const std::filesystem::path& path, std::string text);

 private:
  struct Output {
    std::string parameter;
    std::filesystem::path path;
    std::vector<FileIdentity> parent_folders;  // the file itself, and its folders
  };
  struct Input {
    FileIdentity identity;
    std::string what;  // "the file that {layout} names"
  };
  void check(const Output& output) const;
  void add(const std::filesystem::path& path, const std::string& what);

  mutable std::mutex mutex_;
  std::vector<Output> outputs_;
  std::map<std::filesystem::path, Input> inputs_;               // by their paths as they were named
  std::map<std::filesystem::path, std::string> model_folders_;  // and the model's name
  std::vector<std::filesystem::path> named_folders_;  // where models lie that are not open
  std::map<std::filesystem::path, std::string> kept_;
};

/// Those that the arguments name. Throws Error(usage) as above, and where a file that is to be
/// written has the ending of a kind that it cannot be.
std::shared_ptr<RunFiles> files_of(std::span<const Parameter> parameters,
                                   const Arguments& arguments);

// Texts that come through a pipe, from a terminal or from another device.

/// Whether what is read there is gone afterwards.
bool is_pipe(const std::filesystem::path& path);

/// All that comes, to its end. Throws Error(io), or Error(format) above `limit_bytes`. Throws
/// before it reads if the path is a device other than a terminal or /dev/null: /dev/zero and
/// /dev/urandom have no end.
std::string read_pipe(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
