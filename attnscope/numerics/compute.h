// Compute settings, passed to every long-running function. There is no global state.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope {

class Team;

/// None of these settings affects results, except that other kernels may change the last digits.
struct Compute {
  Kernels kernels = {};
  Team* team = nullptr;       // threads that help with a matrix; null: calling thread only
  std::stop_token stop = {};  // after a stop is requested, functions throw Stopped soon

  /// Throws Stopped if a stop was requested.
  void check_stop() const {
    if (stop.stop_requested()) throw Stopped();
  }
};

/// Calls part(0) … part(count − 1), each once, on this thread and on those lent to the team. The
/// number of parts must not depend on the number of threads, so that results do not either. Returns
/// when all are done. Throws what a part threw, and Stopped between parts.
void run_parts(const Compute& compute, std::size_t count,
               const std::function<void(std::size_t)>& part);

// Team of idle threads that help with matrices of other threads.

/// Owned by the run; must outlive every Compute that points to it, and every lent thread.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls part(0) … part(count − 1), each once, on this thread and on those that are lent. Returns
  /// when all are done. Throws what a part threw.
  void run(std::size_t count, const std::function<void(std::size_t)>& part);

  /// Lends the calling thread to every run() until done() is true. done() is checked again after
  /// each recall().
  void lend(const std::function<bool()>& done);
  void recall();

 private:
  struct Job;

  void work_on(Job& job);

  std::mutex mutex_;
  std::condition_variable work_or_recall_, helper_left_;
  std::vector<Job*> open_;
  std::atomic<std::size_t> lent_ = 0;  // threads inside lend()
};

}  // namespace attnscope
