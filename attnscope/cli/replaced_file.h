// A file that takes its name only when it is whole, in place of the one that had it before.
#pragma once

#include <filesystem>

namespace attnscope {

/// Until replace(), a run that is killed leaves nothing. Where the file system has no files without
/// names, it leaves a hidden one, `.NAME.attnscope-tmp`, which the next run to the same name takes.
class ReplacedFile {
 public:
  /// `may_be_unnamed` false: as on a file system that has none. Throws Error(io).
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
  std::filesystem::path temporary_;  // empty: the file has no name
  int file_ = -1;
};

}  // namespace attnscope
