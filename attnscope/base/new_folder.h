// Folders that are written atomically.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace attnscope {

/// Returns the hidden path in the same folder: "NAME" → ".NAME.ending".
std::filesystem::path hidden_file_next_to(const std::filesystem::path& path,
                                          const std::string& ending);

[[noreturn]] void fail_writing(const std::filesystem::path& path, const std::string& problem);

/// Creates the file; error messages name it as `called`. Throws Error(io) if the disk is full, and
/// passes on exceptions of `write`.
void write_new_file(const std::filesystem::path& path, const std::filesystem::path& called,
                    const std::function<void(std::ostream&)>& write);

/// A folder that is written under a hidden name next to the final one. commit() renames it; without
/// commit() it is removed. Only one run at a time can write it: the hidden folder is locked with
/// flock().
class NewFolder {
 public:
  /// Removes what a killed run left under the hidden name. Throws Error(io) if `path` is anything
  /// but an empty folder, if another run is writing it, or if the parent folder is not writable.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Creates a file in the folder. Throws Error(io) if the disk is full, and passes on exceptions
  /// of `write`.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write) const;
  void write(const std::string& name, std::string_view content) const;

  /// The hidden folder, which contains the files until commit().
  const std::filesystem::path& unfinished() const { return temporary_; }

  void commit();

 private:
  void lock();

  std::filesystem::path path_, temporary_;  // the second is empty after commit()
  int lock_ = -1;                           // descriptor of the open hidden folder
};

}  // namespace attnscope
