// What a run may use, and how it is told to stop. Nothing else is shared between runs: a program
// may have several at once.
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>

#include "attnscope/numerics/compute.h"
#include "attnscope/pipeline/progress.h"

namespace attnscope {

class Store;

/// Threads, memory and kernels change no row beyond rounding: threads and memory not even that.
struct Context {
  int threads = 1;
  /// For matrices in work at once, beside the mapped files.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  Kernels kernels = {};
  /// When it is asked to, the run ends with Stopped. Rows that are finished are in the store.
  std::stop_token stop = {};
  /// Called on the thread that runs; what it throws ends the run. May be empty.
  ProgressFn on_progress = {};
  Store* store = nullptr;  // keeps finished rows; null: none does
};

/// The machine's cores, at least 1.
int default_threads();

}  // namespace attnscope
