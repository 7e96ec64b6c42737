// All threads of a run for one piece of work at a time, without a plan of items.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "attnscope/numerics/team.h"
#include "attnscope/run/context.h"

namespace attnscope {

/// While it exists, lends threads to work that uses compute() on the calling thread.
class LentTeam {
 public:
  explicit LentTeam(const Context& context) : context_(context) {
    try {
      for (int thread = 1; thread < context.threads; ++thread) {
        threads_.emplace_back([this] { team_.lend([this] { return over_.load(); }); });
      }
    } catch (...) {  // the system has no more threads: do not wait for those already lent
      recall();
      throw;
    }
  }
  ~LentTeam() { recall(); }
  LentTeam(const LentTeam&) = delete;
  LentTeam& operator=(const LentTeam&) = delete;

  Compute compute() { return {.kernels = context_.kernels, .team = &team_, .stop = context_.stop}; }

 private:
  void recall() {
    over_ = true;
    team_.recall();
  }

  const Context& context_;
  Team team_;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> threads_;  // the last member: joined before the others go
};

}  // namespace attnscope
