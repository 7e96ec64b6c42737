// A read-only memory-mapped file that survives being cut while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>

namespace attnscope {

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

  /// Asks the system to read `part` of the bytes soon, and does not wait for it.
  void prefetch(std::span<const std::byte> part) const;

  /// Throws Error(io) naming the file if it was cut or written to since it was opened.
  void check_intact() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  timespec modified_ = {};  // the file's time of change when it was opened
  std::size_t guard_slot_ = 0;
};

/// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
