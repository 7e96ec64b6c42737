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

/// The path of the program's stdout.
inline constexpr const char* kStdout = "/dev/stdout";

/// Output appears completely when commit() is called, or not at all. Until then it is in a file
/// without a name. Output to stdout, a pipe or a device is held back, in memory up to a limit, then
/// in a temporary file.
class OutputTarget {
 public:
  /// `path` empty or kStdout: stdout. Opens a file here, so that a failure shows before the work.
  /// Throws Error(io).
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
