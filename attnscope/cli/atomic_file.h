// A file that gets its name only when it is complete, and then replaces the old file.
#pragma once

#include <filesystem>

namespace attnscope {

/// A run that is killed before replace() leaves nothing. On a file system without unnamed files it
/// leaves a hidden file, `.NAME.attnscope-tmp`, which the next run with the same name reuses.
class ReplacedFile {
 public:
  /// `may_be_unnamed` false: behaves as on a file system without unnamed files. Throws Error(io).
  explicit ReplacedFile(std::filesystem::path path, bool may_be_unnamed = true);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  int descriptor() const { return file_; }

  /// Gives the file its name, in one step. Throws Error(io).
  void replace();

 private:
  std::filesystem::path hidden(int number) const;
  void open_hidden();
  void link_hidden();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: the file is unnamed
  int file_ = -1;
};

}  // namespace attnscope
