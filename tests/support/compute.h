// Compute settings of the numerics tests. They use the kernels named by ATTNSCOPE_KERNELS, so that
// one machine can test those of others.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::test {

inline Compute test_compute(Team* team = nullptr, std::stop_token stop = {}) {
  return {.kernels = kernels_of_environment(), .team = team, .stop = stop};
}

/// A team with helper threads during its lifetime.
class LentTeam {
 public:
  explicit LentTeam(int threads) {
    for (int index = 0; index < threads; ++index) {
      threads_.emplace_back([this] { team_.lend([this] { return over_.load(); }); });
    }
  }
  ~LentTeam() {
    over_ = true;
    team_.recall();
  }

  Team& team() { return team_; }
  Compute compute() { return test_compute(&team_); }

 private:
  Team team_;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> threads_;  // last, so that the threads end first
};

}  // namespace attnscope::test
