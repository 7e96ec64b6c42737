// How to compute, passed to every function that takes long. Nothing here is global.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "attnscope/core/error.h"
#include "attnscope/numerics/instruction_set.h"

namespace attnscope {

class Team;

/// None of these changes a result, except that other kernels may change the last digits.
struct Compute {
  Kernels kernels = {};
  Team* team = nullptr;       // threads that help with a matrix; null: only the calling thread
  std::stop_token stop = {};  // after a stop is requested, functions throw Stopped soon

  /// Throws Stopped if a stop was requested.
  void check_stop() const {
    if (stop.stop_requested()) throw Stopped();
  }
};

/// Calls part(0) … part(count − 1), each once, on this thread and on those lent to the team. Work
/// must be cut into the same parts whatever the number of threads, so that results do not depend on
/// it. Returns when all are done; throws what a part threw, and Stopped between parts.
void run_parts(const Compute& compute, std::size_t count,
               const std::function<void(std::size_t)>& part);

}  // namespace attnscope
