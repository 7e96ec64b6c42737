// The bytes of a file, mapped into memory; it notices when the file is cut or written to.
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
  /// Of a file elsewhere: its bytes are there once they were needed.
  explicit MappedFile(RemoteFile file);
  /// Stands for `bytes` that a program has in memory, which are not its own.
  static MappedFile in_memory(std::string name, std::uint64_t bytes);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// As it was when it was opened.
  const FileState& state() const { return state_; }

  bool is_remote() const { return remote_ != nullptr; }

  /// Returns when `part` of the bytes can be read: at once where the file is on this machine. Bytes
  /// of other files are ignored here and below. Throws Error(io) where they cannot be had.
  void need(std::span<const std::byte> part) const { need({&part, 1}); }

  /// Of many, some of what lies between may be read too, where that costs less than to begin anew.
  void need(std::span<const std::span<const std::byte>> parts) const;

  /// Asks for parts of the bytes to be read soon, and does not wait for them.
  void prefetch(std::span<const std::byte> part) const { prefetch({&part, 1}); }
  void prefetch(std::span<const std::span<const std::byte>> parts) const;

  /// Says that `part` of the bytes will not be read soon: what memory held of it may go.
  void release(std::span<const std::byte> part) const;

  /// Throws Error(io) naming the file if it was cut or written to since it was opened.
  void check_intact() const;

 private:
  MappedFile(std::filesystem::path path, FileState state) : path_(std::move(path)), state_(state) {}

  /// Where in the file the part begins; nothing where it is no part of it.
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

/// The whole of a small text file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string text_of(const MappedFile& file, std::uint64_t limit_bytes);

/// The same of a file on this machine.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
