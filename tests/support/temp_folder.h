// A folder of its own for one test.
#pragma once

#include <filesystem>
#include <string_view>

namespace attnscope::test {

/// Made empty, removed with all that it holds.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file, with the folders above it, and returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace attnscope::test
