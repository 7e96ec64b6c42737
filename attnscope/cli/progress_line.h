// Progress on stderr: a line that is drawn over, or in a log a line every ten seconds.
#pragma once

#include <cstdio>
#include <string>

#include "attnscope/run/progress.h"

namespace attnscope {

enum class ProgressMode { never, automatic, always };

/// Whether the terminals of this environment obey nothing, as TERM says.
bool is_dumb_terminal();

/// "1:05", "2:00:00".
std::string duration_text(double seconds);

class ProgressLine {
 public:
  /// `automatic` shows nothing where `stream` is no terminal.
  ProgressLine(std::string label, ProgressMode mode, std::FILE* stream = stderr);
  /// Leaves no trace on a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  /// Another text, so many seconds after the start of what it is about.
  void show(const std::string& text, double seconds);
  /// Takes the line off a terminal; what is shown next draws it again.
  void clear();

 private:
  std::string label_;
  std::FILE* stream_;
  bool on_terminal_;  // one whose line can be drawn over
  bool enabled_;
  std::size_t drawn_ = 0;    // columns of the line that is there
  double next_seconds_ = 0;  // of the run: when a log gets its next line
};

}  // namespace attnscope
