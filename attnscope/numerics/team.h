// Threads without a matrix of their own, which help with those of others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace attnscope {

/// Owned by the run; must outlive every Compute that points to it, and every lent thread.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls part(0) … part(count − 1), each once, on this thread and on those that are lent.
  /// Returns when all are done; throws what a part threw.
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
  std::atomic<std::size_t> lent_ = 0;  // threads that are in lend()
};

}  // namespace attnscope
