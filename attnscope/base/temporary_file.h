// Unnamed temporary files. The system removes them when they are closed, even after a crash.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace attnscope {

/// Returns the folder that TMPDIR names, even if it does not exist: a misspelled TMPDIR must not
/// fill /tmp.
std::string temporary_folder();

/// Returns a descriptor for reading and writing, or -1 with errno set. Also returns -1 if the file
/// system of `folder` does not support unnamed files.
int open_unnamed_file(const std::filesystem::path& folder);

/// Does the same in the temporary folder, on every file system.
int open_temporary_file();

// A buffer of bytes: in memory up to a limit, beyond it in an unnamed temporary file. The system
// removes the file when the program ends, even after a crash.

class Spool {
 public:
  /// `memory_bytes`: the limit in memory.
  explicit Spool(std::size_t memory_bytes = std::size_t{4} << 20) : memory_bytes_(memory_bytes) {}

  /// Appends bytes and returns their offset. Throws Error(io) if the disk is full.
  std::uint64_t append(std::string_view bytes);

  /// Reads `length` bytes that start at `offset`; they must have been appended before. Throws
  /// Error(io).
  std::string read(std::uint64_t offset, std::size_t length);

  std::uint64_t size() const { return size_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::size_t memory_bytes_;
  std::uint64_t size_ = 0;
  std::string memory_;
  std::unique_ptr<std::FILE, Close> file_;  // null while all bytes are in memory
};

}  // namespace attnscope
