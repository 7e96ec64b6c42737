// A read-only memory-mapped file that notices when it is cut or written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "attnscope/checkpoint/bus_error_guard.h"

namespace attnscope {

/// What tells whether a file is still the one that was opened.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of its inode, which no program can set
};

/// Owns the mapping; move-only. Call `check_intact()` after reading and before believing: of a file
/// that was cut after it was opened, what lies past its end is read as zeros (where the program has
/// called install_bus_error_guard(); else the system ends it).
class MappedFile {
 public:
  /// Throws Error(io) where the file cannot be opened or is no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// As it was when it was opened.
  const FileState& state() const { return state_; }

  /// Asks the system to read `part` of the bytes soon, and does not wait for it.
  void prefetch(std::span<const std::byte> part) const;

  /// Tells the system that `part` of the bytes will not be read soon: what memory held of it may go.
  void release(std::span<const std::byte> part) const;

  /// Throws Error(io) naming the file if it was cut or written to since it was opened.
  void check_intact() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  FileState state_;
  GuardedRange guard_;
};

/// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
