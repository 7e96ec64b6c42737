// Where a command's data goes: stdout, or a file that is replaced in one step.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "attnscope/cli/interrupt.h"

namespace attnscope {

class OutputTarget {
 public:
  /// `path` empty: stdout. A file is opened here, under a temporary name beside `path`, so that one
  /// that cannot be written is known before the work. Throws Error(io).
  explicit OutputTarget(const std::string& path = "");
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  /// Whether a terminal reads it.
  bool is_terminal() const;

  /// Columns of that terminal, where it says so.
  std::optional<int> terminal_width() const;

  /// Renders everything first, then writes it; nothing is printed if `render` throws.
  /// Throws Error(io). A closed pipe is no error: its reader has seen enough.
  void write(const std::function<void(std::ostream&)>& render);

 private:
  std::filesystem::path path_;       // empty: stdout
  std::filesystem::path temporary_;  // empty: written directly (stdout, a device, a pipe)
  std::FILE* file_ = nullptr;
  std::optional<RemoveOnInterrupt> removal_;
};

}  // namespace attnscope
