// The bytes of a file, mapped into memory. Detects if the file is truncated or written to.
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

/// Identifies the state of a file, to tell whether it has changed since it was opened.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of its inode, which no program can set
};

/// Owns the mapping; move-only. Call `check_intact()` after reading, before using what was read: if
/// the file was truncated after it was opened, bytes past its end read as zeros (if the program has
/// called install_bus_error_guard(); else SIGBUS ends it).
class MappedFile {
 public:
  /// Throws Error(io) if the file cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  /// A remote file: need() fetches its bytes.
  explicit MappedFile(RemoteFile file);
  /// Stands for `bytes` of the program's memory, which it does not own.
  static MappedFile in_memory(std::string name, std::uint64_t bytes);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// The file's state when it was opened.
  const FileState& state() const { return state_; }

  bool is_remote() const { return remote_ != nullptr; }

  /// Waits until `part` of the bytes can be read; returns at once for a file on this machine. Bytes
  /// of other files are ignored here and below. Throws Error(io) if they cannot be fetched.
  void need(std::span<const std::byte> part) const { need({&part, 1}); }

  /// The same for many parts. May also fetch bytes between them, if that is cheaper than another
  /// request.
  void need(std::span<const std::span<const std::byte>> parts) const;

  /// Starts to read parts of the bytes; does not wait.
  void prefetch(std::span<const std::byte> part) const { prefetch({&part, 1}); }
  void prefetch(std::span<const std::span<const std::byte>> parts) const;

  /// Says that `part` will not be read soon, so that its memory may be freed.
  void release(std::span<const std::byte> part) const;

  /// Throws Error(io) that names the file if it was truncated or written to since it was opened.
  void check_intact() const;

 private:
  MappedFile(std::filesystem::path path, FileState state) : path_(std::move(path)), state_(state) {}

  /// The offset of the part in the file; nothing if it is not a part of it.
  std::optional<std::size_t> place_of(std::span<const std::byte> part) const;

  struct Stretch {
    std::size_t begin, end;
  };
  /// The parts of this file in their order, near ones joined.
  std::vector<Stretch> stretches_of(std::span<const std::span<const std::byte>> parts) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  FileState state_;
  GuardedRange guard_;
  std::unique_ptr<RemoteBytes> remote_;  // null: the file is on this machine
};

/// All bytes of a file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string bytes_of(const MappedFile& file, std::uint64_t limit_bytes);

/// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string text_of(const MappedFile& file, std::uint64_t limit_bytes);

/// The same of a file on this machine.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
