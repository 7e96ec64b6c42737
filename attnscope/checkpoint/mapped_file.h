// A read-only memory-mapped file that survives being cut while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace attnscope {

/// What tells whether a file is still the one that was opened.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of its inode, which no program can set
};

/// Owns the mapping; move-only. Reading past the end of a file that was truncated after it was
/// opened yields zeros, not a crash: call `check_intact()` after reading and before believing.
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

  /// Throws Error(io) naming the file if it was cut or written to since it was opened.
  void check_intact() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  FileState state_;
  std::size_t guard_slot_ = 0;
};

/// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
