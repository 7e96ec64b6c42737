// The run time of a program on a machine with other load.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace attnscope::test {

/// For operations that end at once unless the machine is busy. Only a failing test waits this long.
inline constexpr std::chrono::seconds kLongWait{60};

/// Counts the seconds of a process from now on, minus those in which it waited for a processor. On
/// a busy machine every step waits, and a time limit of a second applies to the rest. If several
/// threads waited, the longest wait counts. If the system does not report waits
/// (/proc/PID/task/TID/schedstat), nothing is subtracted.
class GivenTime {
 public:
  explicit GivenTime(pid_t process);

  /// Reads the waiting times of all threads. For a thread that ends between two calls, only the
  /// time up to the first call is known.
  void look();
  double seconds();

 private:
  std::map<pid_t, std::uint64_t> waits() const;  // per thread since its start, in nanoseconds

  pid_t process_;
  std::chrono::steady_clock::time_point start_;
  std::map<pid_t, std::uint64_t> before_;
  std::uint64_t longest_ = 0;
};

}  // namespace attnscope::test
