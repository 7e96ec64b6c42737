// A temporary folder for one test.
#pragma once

#include <filesystem>
#include <string_view>

namespace attnscope::test {

/// Created empty, and removed with all its contents.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file, creates its parent folders, and returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace attnscope::test
