// The bytes of a file, mapped into memory. Detects whether the file is truncated or modified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "attnscope/checkpoint/bus_error_guard.h"
#include "attnscope/checkpoint/remote_bytes.h"

namespace attnscope {

/// The state of a file, used to detect changes after it was opened.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // change time of the inode, which no program can set
};

/// Owns the mapping; move-only. Call `check_intact()` after reading and before using the values. If
/// the file was truncated, bytes past its end read as zeros after install_bus_error_guard().
/// Without the guard, SIGBUS ends the program.
class MappedFile {
 public:
  /// Throws Error(io) if the file cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  /// A remote file: need() fetches its bytes.
  explicit MappedFile(RemoteFile file);
  /// Represents `bytes` of the program's memory, without owning them.
  static MappedFile in_memory(std::string name, std::uint64_t bytes);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// The file's state when it was opened.
  const FileState& state() const { return state_; }

  bool is_remote() const { return remote_ != nullptr; }

  /// Waits until `part` of the bytes is readable; returns at once for a local file. Here and below,
  /// bytes of other files are ignored. Throws Error(io) if they cannot be fetched.
  void need(std::span<const std::byte> part) const { need({&part, 1}); }

  /// The same for many parts. Also fetches bytes between them if that is cheaper than another
  /// request.
  void need(std::span<const std::span<const std::byte>> parts) const;

  /// Starts to read parts of the bytes; does not wait.
  void prefetch(std::span<const std::byte> part) const { prefetch({&part, 1}); }
  void prefetch(std::span<const std::span<const std::byte>> parts) const;

  /// Hints that `part` will not be read soon, so that its memory can be freed.
  void release(std::span<const std::byte> part) const;

  /// Throws Error(io) that names the file if it was truncated or modified since it was opened.
  void check_intact() const;

 private:
  MappedFile(std::filesystem::path path, FileState state) : path_(std::move(path)), state_(state) {}

  /// Returns the offset of the part in the file; nothing if it is not part of the file.
  std::optional<std::size_t> place_of(std::span<const std::byte> part) const;

  struct Stretch {
    std::size_t begin, end;
  };
  /// Returns the parts of this file in order, with nearby ones joined.
  std::vector<Stretch> stretches_of(std::span<const std::span<const std::byte>> parts) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  FileState state_;
  GuardedRange guard_;
  std::unique_ptr<RemoteBytes> remote_;  // null: the file is local
};

/// Returns all bytes of a file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string bytes_of(const MappedFile& file, std::uint64_t limit_bytes);

/// Returns the contents of a small text file. Throws Error(io), or Error(format) above
/// `limit_bytes`.
std::string text_of(const MappedFile& file, std::uint64_t limit_bytes);

/// The same for a local file.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
