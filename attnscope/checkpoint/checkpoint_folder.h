// The folder of a checkpoint: on this machine, or remote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"

namespace attnscope {

class CheckpointFolder {
 public:
  /// On this machine.
  CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}
  CheckpointFolder() = default;

  /// A remote folder that holds these files. Messages call it `path`.
  CheckpointFolder(std::filesystem::path path, std::vector<RemoteFile> files)
      : path_(std::move(path)), files_(std::move(files)), is_remote_(true) {}

  const std::filesystem::path& path() const { return path_; }
  bool is_remote() const { return is_remote_; }

  /// False also if the name cannot be looked up: names come from files and may be too long.
  bool has(const std::string& name) const;
  MappedFile open(const std::string& name) const;

  /// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
  std::string read_text(const std::string& name, std::uint64_t limit_bytes) const;

  /// The name of one of its files in messages.
  std::string place_of(const std::string& name) const;

  /// From now on, reading that file returns the text that `make` gives. For texts that are inside
  /// another file.
  void bring_text(const std::string& name, std::function<std::string()> make, std::string place);

  /// From now on, the folder seems to have no such file.
  void hide(const std::string& name) { texts_[name] = std::nullopt; }

  /// Names of its files with that ending, sorted. Throws Error(io) if it cannot be listed.
  std::vector<std::string> names_ending(std::string_view ending) const;

 private:
  const RemoteFile* find(const std::string& name) const;

  struct Text {
    std::function<std::string()> make;
    std::string place;
  };

  std::filesystem::path path_;
  std::map<std::string, std::optional<Text>> texts_;  // none: the file is hidden
  std::vector<RemoteFile> files_;                     // of a remote folder
  bool is_remote_ = false;
};

}  // namespace attnscope
