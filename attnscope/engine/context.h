// What a run may use, and how it is told to stop. Runs share nothing else, so a program may have
// several at the same time.
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

/// The store lacks rows of a run with `only_stored`.
class NotStored : public std::exception {
 public:
  const char* what() const noexcept override { return "not in the store"; }
};

/// Watches the batches of a run. What there is to see is up to the code that runs batches:
/// PassWatcher is the only class that derives from this one.
class BatchWatcher {
 public:
  virtual ~BatchWatcher() = default;
};

/// Other kernels may change the last digits of a number; threads and memory change nothing.
struct Context {
  int threads = 1;
  /// Limit for all items under way together, beside the mapped files.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  Kernels kernels = {};
  /// When a stop is requested, the run throws Stopped. Rows that are finished stay in the store.
  std::stop_token stop = {};
  /// Called on the thread that called the run. An exception from it ends the run. May be empty.
  ProgressFn on_progress = {};
  Store* store = nullptr;  // keeps finished rows; null: they are not kept
  /// Computes the items of a plan in another process, as compute_item() does. Called on one thread
  /// for each item, up to a limit; throws Stopped soon after a stop is requested of the token.
  /// Empty: items are computed here. `threads` and `memory_bytes` apply to this process only.
  std::function<std::vector<Outcome>(const WorkItem&, const std::stop_token&)> compute_elsewhere =
      {};
  /// Watch every batch that is computed here, on the thread that computes it, but not batches whose
  /// rows come from the store. They must outlive the run.
  std::vector<BatchWatcher*> watchers = {};
  bool only_stored = false;  // if the store lacks an item, the run throws NotStored
};

/// The machine's cores, at least 1.
int default_threads();

}  // namespace attnscope
