// A folder that appears whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace attnscope {

/// "NAME" → ".NAME.ending", in the same folder.
std::filesystem::path hidden_file_next_to(const std::filesystem::path& path,
                                          const std::string& ending);

[[noreturn]] void fail_writing(const std::filesystem::path& path, const std::string& problem);

/// Makes the file; messages name it as `called`. Throws Error(io) where the disk is full; `write`
/// may throw whatever it wants.
void write_new_file(const std::filesystem::path& path, const std::filesystem::path& called,
                    const std::function<void(std::ostream&)>& write);

/// Written under a hidden name next to its own; commit() gives it its name. Without that, it is
/// removed again. One run at a time holds the hidden folder, locked by flock().
class NewFolder {
 public:
  /// Throws Error(io) if the name belongs to something other than an empty folder, if another run
  /// is writing the same folder, or if nothing can be written next to it. Removes what a killed run
  /// left under the hidden name.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// A file in it. Throws Error(io) where the disk is full; `write` may throw whatever it wants.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write) const;
  void write(const std::string& name, std::string_view content) const;

  /// Where its files are until commit().
  const std::filesystem::path& unfinished() const { return temporary_; }

  void commit();

 private:
  void lock();

  std::filesystem::path path_, temporary_;  // the second is empty after commit()
  int lock_ = -1;                           // the hidden folder, open
};

}  // namespace attnscope
