// How numbers are computed, told to every function that takes long: nothing here is the process's.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "attnscope/core/error.h"
#include "attnscope/numerics/instruction_set.h"

namespace attnscope {

class Team;

/// None of these changes a result, but for the last digits that other kernels give.
struct Compute {
  Kernels kernels = {};
  Team* team = nullptr;       // helps with a matrix; null: the calling thread is alone
  std::stop_token stop = {};  // once it is set, what is under way throws Stopped soon

  /// Throws Stopped where a stop was asked for.
  void check_stop() const {
    if (stop.stop_requested()) throw Stopped();
  }
};

/// Calls part(0) … part(count − 1), each once, on this thread and on those lent to the team. How
/// work is cut into parts never depends on who does it, so that results do not depend on the number
/// of threads. Returns when all are done; throws what a part threw, and Stopped between parts.
void run_parts(const Compute& compute, std::size_t count,
               const std::function<void(std::size_t)>& part);

}  // namespace attnscope
