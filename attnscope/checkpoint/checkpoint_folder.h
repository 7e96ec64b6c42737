// The folder of a checkpoint, local or remote.
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
  /// A local folder.
  CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}
  CheckpointFolder() = default;

  /// A remote folder with these files. Messages use the name `path`.
  CheckpointFolder(std::filesystem::path path, std::vector<RemoteFile> files)
      : path_(std::move(path)), files_(std::move(files)), is_remote_(true) {}

  const std::filesystem::path& path() const { return path_; }
  bool is_remote() const { return is_remote_; }

  /// Also false if the name cannot be looked up: names come from files and may be too long.
  bool has(const std::string& name) const;
  MappedFile open(const std::string& name) const;

  /// Returns the contents of a small text file. Throws Error(io), or Error(format) above
  /// `limit_bytes`.
  std::string read_text(const std::string& name, std::uint64_t limit_bytes) const;

  /// Returns the name of one of its files for messages.
  std::string place_of(const std::string& name) const;

  /// Makes later reads of that file return the text from `make`. For texts inside another file.
  void bring_text(const std::string& name, std::function<std::string()> make, std::string place);

  /// Hides that file from later reads.
  void hide(const std::string& name) { texts_[name] = std::nullopt; }

  /// Returns the names of its files with that extension, sorted. Throws Error(io) if the folder
  /// cannot be listed.
  std::vector<std::string> names_ending(std::string_view ending) const;

 private:
  const RemoteFile* find(const std::string& name) const;

  struct Text {
    std::function<std::string()> make;
    std::string place;
  };

  std::filesystem::path path_;
  std::map<std::string, std::optional<Text>> texts_;  // none: the file is hidden
  std::vector<RemoteFile> files_;                     // for a remote folder
  bool is_remote_ = false;
};

}  // namespace attnscope
