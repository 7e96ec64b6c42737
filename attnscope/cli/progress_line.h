// Progress on stderr: one line that is overwritten, or in a log one line every ten seconds.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "attnscope/engine/progress.h"
#include "attnscope/hub/hub.h"

namespace attnscope {

enum class ProgressMode { never, automatic, always };

/// Whether TERM names a terminal without control sequences.
bool is_dumb_terminal();

/// "1:05", "2:00:00".
std::string duration_text(double seconds);

class ProgressLine {
 public:
  /// `automatic` shows nothing if `stream` is not a terminal.
  ProgressLine(std::string label, ProgressMode mode, std::FILE* stream = stderr);
  /// Erases the line from a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  /// Shows a new text, `seconds` after the start of the work.
  void show(const std::string& text, double seconds);
  /// Erases the line from a terminal; the next show() draws it again.
  void clear();

 private:
  std::string label_;
  std::FILE* stream_;
  bool on_terminal_;  // a terminal whose line can be overwritten
  bool enabled_;
  std::size_t drawn_ = 0;    // columns of the current line
  double next_seconds_ = 0;  // time of the next log line, in seconds since the start
};

// The hub as configured by the environment, with progress and notes on stderr.

/// `on_note` may be empty.
std::shared_ptr<Hub> hub_of_environment(ProgressMode mode, std::stop_token stop,
                                        std::function<void(const std::string&)> on_note);

}  // namespace attnscope
