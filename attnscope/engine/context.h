// Resources and callbacks of a run, including its stop token. Runs share nothing else, so a program
// may execute several at the same time.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <stop_token>
#include <vector>

#include "attnscope/engine/progress.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

class Store;
struct Outcome;
struct WorkItem;

/// Thrown if the store lacks rows of a run with `only_stored`.
class NotStored : public std::exception {
 public:
  const char* what() const noexcept override { return "not in the store"; }
};

/// Watches the batches of a run. The interface is up to the code that runs the batches: PassWatcher
/// is the only class derived from this one.
class BatchWatcher {
 public:
  virtual ~BatchWatcher() = default;
};

/// Results depend on `kernels` only in their last digits, and not at all on threads and memory.
struct Context {
  int threads = 1;
  /// Memory limit for all running items together, in addition to the mapped files.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  Kernels kernels = {};
  /// When a stop is requested, the run throws Stopped. Finished rows stay in the store.
  std::stop_token stop = {};
  /// Called on the thread that started the run. An exception from it ends the run. May be empty.
  ProgressFn on_progress = {};
  Store* store = nullptr;  // stores finished rows; null: rows are not stored
  /// Computes one item of a plan in another process, like compute_item(). Called on one thread per
  /// item, up to a limit. Throws Stopped soon after the token requests a stop. If empty, items are
  /// computed in this process. `threads` and `memory_bytes` apply to this process only.
  std::function<std::vector<Outcome>(const WorkItem&, const std::stop_token&)> compute_elsewhere =
      {};
  /// Watch every batch computed in this process, on the computing thread. Batches whose rows come
  /// from the store are not watched. The watchers must outlive the run.
  std::vector<BatchWatcher*> watchers = {};
  bool only_stored = false;  // if the store lacks an item, the run throws NotStored
};

/// Returns the number of cores of the machine, at least 1.
int default_threads();

}  // namespace attnscope
