// All threads of a run for one piece of work at a time, where a plan of items would be too much.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "attnscope/numerics/team.h"
#include "attnscope/run/context.h"

namespace attnscope {

/// Lends threads as long as it lives: to whoever computes with compute(), on the calling thread.
class LentTeam {
 public:
  explicit LentTeam(const Context& context) : context_(context) {
    try {
      for (int thread = 1; thread < context.threads; ++thread) {
        threads_.emplace_back([this] { team_.lend([this] { return over_.load(); }); });
      }
    } catch (...) {  // the system has no more threads: those that are lent must not be waited for
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
