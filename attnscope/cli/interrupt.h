// Ctrl-C (and a polite kill, and a lost terminal) ends at once with exit code 130 (128 + signal),
// and leaves no half-written file.
#pragma once

#include <string>

namespace attnscope {

/// Installs the handler for SIGINT, SIGTERM and SIGHUP, each unless the caller has it ignored.
void stop_on_interrupt();

/// While it lives, the file is removed if the run is interrupted. One at a time.
class RemoveOnInterrupt {
 public:
  explicit RemoveOnInterrupt(const std::string& path);
  ~RemoveOnInterrupt();
  RemoveOnInterrupt(const RemoveOnInterrupt&) = delete;
  RemoveOnInterrupt& operator=(const RemoveOnInterrupt&) = delete;
};

}  // namespace attnscope
