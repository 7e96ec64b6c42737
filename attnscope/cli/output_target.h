// Where a command's data goes: stdout, a pipe or a device, or a file that is replaced in one step.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "attnscope/cli/file_buffer.h"
#include "attnscope/cli/replaced_file.h"

namespace attnscope {

/// As a path: what the program's stdout is.
inline constexpr const char* kStdout = "/dev/stdout";

/// Output appears whole, when commit() is called, or not at all. Until then it lies in a file that
/// has no name yet; what goes to stdout, a pipe or a device is held back, in memory while it is
/// little, and then in a file of the folder for temporary files.
class OutputTarget {
 public:
  /// `path` empty, or kStdout: stdout. A file is opened here, so that one that cannot be written is
  /// known before the work. Throws Error(io).
  explicit OutputTarget(const std::string& path = "");
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  /// Whether a terminal reads it.
  bool is_terminal() const;

  /// Columns of that terminal, where it says so.
  std::optional<int> terminal_width() const;

  /// Writing to it throws Error(io) where there is no room.
  std::ostream& stream() { return *stream_; }

  /// Writes to stdout, a pipe or a device at once, before all that stream() was given. Throws
  /// Error(io), but not for a closed pipe.
  void write_now(std::string_view text);

  /// Throws Error(io). A closed pipe is no error: its reader has seen enough.
  void commit();

 private:
  std::string place_;                 // of errors
  std::optional<ReplacedFile> file_;  // else written to `out_`
  int out_ = -1;
  std::unique_ptr<FileBuffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

}  // namespace attnscope
