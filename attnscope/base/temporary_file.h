// Files without a name. The system removes them when they are closed, even by a crash.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace attnscope {

/// The folder that TMPDIR names, whether it exists or not: a misspelled TMPDIR must not fill /tmp.
std::string temporary_folder();

/// Returns a descriptor for reading and writing, or -1 with errno. Also -1 if the file system of
/// `folder` has no unnamed files.
int open_unnamed_file(const std::filesystem::path& folder);

/// The same in the temporary folder; works on every file system.
int open_temporary_file();

// Bytes that are kept until they are read: in memory up to a limit, beyond it in an unnamed
// temporary file. The system removes the file when the program ends, even by a crash.

class Spool {
 public:
  /// `memory_bytes`: the limit in memory.
  explicit Spool(std::size_t memory_bytes = std::size_t{4} << 20) : memory_bytes_(memory_bytes) {}

  /// Appends bytes and returns their offset. Throws Error(io) if the disk is full.
  std::uint64_t append(std::string_view bytes);

  /// Reads `length` bytes from `offset` on, which must have been appended. Throws Error(io).
  std::string read(std::uint64_t offset, std::size_t length);

  std::uint64_t size() const { return size_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::size_t memory_bytes_;
  std::uint64_t size_ = 0;
  std::string memory_;
  std::unique_ptr<std::FILE, Close> file_;  // null while all is in memory
};

}  // namespace attnscope
