// Progress on stderr: a line that is drawn over, or in a log a line every ten seconds.
#pragma once

#include <chrono>
#include <string>

#include "attnscope/pipeline/work_queue.h"

namespace attnscope {

enum class ProgressMode { never, automatic, always };

class ProgressLine {
 public:
  ProgressLine(std::string label, ProgressMode mode);
  /// Leaves no trace on a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool on_terminal_;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace attnscope
