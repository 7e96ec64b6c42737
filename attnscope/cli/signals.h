// Ctrl-C, SIGTERM and a lost terminal ask the run to stop.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace attnscope {

/// While this object exists, SIGINT, SIGTERM and SIGHUP go to one thread, except those that the
/// parent process ignored. The thread requests a stop and prints "interrupted" to stderr. If the
/// run has not ended 0.8 s later, the process ends with exit code 128 + signal. At most one
/// instance per process. After its destruction these signals have no effect, so that a finished run
/// ends with its own exit code.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  std::stop_token stop_token() const { return stop_.get_token(); }

  /// 128 + the signal that asked to stop; 0 if none did.
  int exit_code();

 private:
  void wait_for_signal();

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable over_changed_;
  bool over_ = false;  // whether the run is over
  int media_input_ = 0;
  std::thread thread_;
};

}  // namespace attnscope
