// Where a command's data goes: stdout, a pipe, a device, or a file that is replaced atomically.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// A stream buffer that keeps its bytes in memory up to a limit, then in a file.

/// Writes all bytes. Returns 0 or errno.
int write_all(int descriptor, const char* bytes, std::size_t count);

class FileBuffer : public std::streambuf {
 public:
  /// `open` is called once, when more than `kept_bytes` are buffered. It returns a descriptor for
  /// reading and writing, which this object closes. `place` names the file in errors.
  FileBuffer(std::size_t kept_bytes, std::function<int()> open, std::string place);
  ~FileBuffer() override;

  /// Moves all buffered bytes into the file. Throws Error(io).
  void move_to_file();

  /// Copies everything to another descriptor. Returns 0, or errno of that descriptor; throws
  /// Error(io) if its own file cannot be read.
  int copy_to(int descriptor);

 protected:
  int_type overflow(int_type next) override;
  int sync() override { return 0; }  // bytes stay until move_to_file() or copy_to()

 private:
  void take_area();

  std::size_t kept_bytes_;
  std::function<int()> open_;
  std::string place_;
  std::vector<char> area_;  // write area of the stream buffer
  std::string kept_;
  int file_ = -1;
};

// A file that gets its name only when it is complete, and then replaces the old file.

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

  /// Gives the file its name atomically. Throws Error(io).
  void replace();

 private:
  std::filesystem::path hidden(int number) const;
  void open_hidden();
  void link_hidden();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: the file is unnamed
  int file_ = -1;
};

/// The path of the program's stdout.
inline constexpr const char* kStdout = "/dev/stdout";

/// Output appears completely when commit() is called, or not at all. Until then it is in an unnamed
/// file. Output to stdout, a pipe or a device is buffered, in memory up to a limit, then in a
/// temporary file.
class OutputTarget {
 public:
  /// `path` empty or kStdout: stdout. Opens the file in the constructor, so that a failure is
  /// reported before the work starts. Throws Error(io).
  explicit OutputTarget(const std::string& path = "");
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  /// Whether the target is a terminal.
  bool is_terminal() const;

  /// Columns of that terminal, if known.
  std::optional<int> terminal_width() const;

  /// The stream to write to. Writing throws Error(io) if the disk is full.
  std::ostream& stream() { return *stream_; }

  /// Writes to stdout, a pipe or a device immediately, before everything that was written to
  /// stream(). Throws Error(io), but not for a closed pipe.
  void write_now(std::string_view text);

  /// Makes the output appear. Throws Error(io). A closed pipe is not an error: its reader has
  /// stopped reading.
  void commit();

 private:
  std::string place_;                 // named in errors
  std::optional<ReplacedFile> file_;  // none: written to `out_`
  int out_ = -1;
  std::unique_ptr<FileBuffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

}  // namespace attnscope
