// How long a program takes on a machine that others use too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace attnscope::test {

/// For what comes at once, unless the machine is busy: only a test that fails waits so long.
inline constexpr std::chrono::seconds kLongWait{60};

/// Counts the seconds of a process from now on, less those for which it had no processor: where
/// other programs keep the machine busy, every step waits for one, and a promise of a second is
/// about the rest. Of several threads that waited, the one that did so longest counts. Where the
/// system does not tell (/proc/PID/task/TID/schedstat), nothing is taken off.
class GivenTime {
 public:
  explicit GivenTime(pid_t process);

  /// Reads what the threads waited so far. Those that end between two looks are seen up to the
  /// first of them.
  void look();
  double seconds();

 private:
  std::map<pid_t, std::uint64_t> waits() const;  // of each thread since it began, in nanoseconds

  pid_t process_;
  std::chrono::steady_clock::time_point start_;
  std::map<pid_t, std::uint64_t> before_;
  std::uint64_t longest_ = 0;
};

}  // namespace attnscope::test
