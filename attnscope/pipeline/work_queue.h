// Runs independent pieces of work on several threads, the largest first, within a memory budget.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "attnscope/pipeline/progress.h"

namespace attnscope {

struct WorkItem {
  double flops = 0;                // arithmetic it will take, for order and for the time left
  std::uint64_t bytes = 0;         // it will read
  std::uint64_t memory_bytes = 0;  // the most it will hold at once, beside the mapped files
  std::function<void()> run;
  /// Asks the system to read the item's bytes and does not wait for them; may be empty.
  std::function<void()> prefetch = {};
};

/// What a run may take. None of it changes a result.
struct Resources {
  int threads = 1;
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
};

/// Runs every item once: the largest of those that fit in the memory that items under way leave;
/// one that is larger than all memory runs alone. Items that come next are prefetched where memory
/// is left. An exception ends the run: items under way are finished, no new ones start, and it is
/// thrown again here (the earliest item's, where several throw). `on_progress`, which may be empty,
/// is called on this thread, and once more when all is done.
void run_all(const std::vector<WorkItem>& items, const Resources& resources,
             const ProgressFn& on_progress);

/// The machine's cores, at least 1.
int default_threads();

}  // namespace attnscope
