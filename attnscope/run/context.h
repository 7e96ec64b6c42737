// What a run may use, and how it is told to stop. Runs share nothing else, so a program may have
// several at once.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <stop_token>
#include <vector>

#include "attnscope/numerics/compute.h"
#include "attnscope/run/progress.h"

namespace attnscope {

class Store;
struct LayerMaps;
struct Outcome;
struct WorkItem;

/// The store lacks rows of a run that was to read them from there alone.
class NotStored : public std::exception {
 public:
  const char* what() const noexcept override { return "not in the store"; }
};

/// Shown the attention maps of a batch of sequences, layer by layer.
using MapsFn = std::function<void(const WorkItem& batch, const LayerMaps&)>;

/// Other kernels may change the last digits of a number; threads and memory change nothing.
struct Context {
  int threads = 1;
  /// For all matrices in work together, beside the mapped files.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  Kernels kernels = {};
  /// When a stop is requested, the run throws Stopped. Rows that are finished stay in the store.
  std::stop_token stop = {};
  /// Called on the thread that runs; what it throws ends the run. May be empty.
  ProgressFn on_progress = {};
  Store* store = nullptr;  // keeps finished rows; null: they are not kept
  /// Computes the items of a plan in another process, as compute_item() does. Called from as many
  /// threads as there are items, up to a limit; throws Stopped soon after a stop is requested of
  /// the token. Empty: items are computed here. `threads` and `memory_bytes` are of this process
  /// alone.
  std::function<std::vector<Outcome>(const WorkItem&, const std::stop_token&)> compute_elsewhere =
      {};
  /// Called for every batch that is run here, on the thread that runs it: not for those whose rows
  /// the store has. May be empty.
  MapsFn on_maps = {};
  bool only_stored = false;  // what the store lacks is not computed: the run throws NotStored
};

/// The machine's cores, at least 1.
int default_threads();

}  // namespace attnscope
