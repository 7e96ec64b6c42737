// What a path leads to, whatever it is called.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnscope {

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
std::vector<FileIdentity> identities_on_the_way(const std::filesystem::path& path);

}  // namespace attnscope
