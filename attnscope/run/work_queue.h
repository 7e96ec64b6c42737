// Runs independent pieces of work on several threads, the largest first, within a memory budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "attnscope/run/context.h"

namespace attnscope {

struct QueueItem {
  double flops = 0;                // arithmetic it will take, for order and for the time left
  std::uint64_t bytes = 0;         // it will read
  std::uint64_t memory_bytes = 0;  // the most it will hold at once, beside the mapped files
  /// Throws Stopped soon after a stop is requested in its Compute.
  std::function<void(const Compute&)> run;
  /// Asks the system to read the item's bytes and does not wait for them; may be empty.
  std::function<void()> prefetch = {};
};

/// Called on the thread that runs the queue, after an item has ended well.
using ItemEndedFn = std::function<void(std::size_t index)>;

/// Runs every item once. A free thread takes the largest item that fits in the memory that items
/// under way leave; one that needs more than the whole budget runs alone. The items that come next
/// are prefetched where memory is left. An exception of an item or of a callback ends the run:
/// items under way are stopped, no new ones start, and it is thrown again from here. A stop ends it
/// in the same way, with Stopped. The progress callback is called once more when all is done; what
/// it is told to count is `called`.
void run_queue(const std::vector<QueueItem>& items, const Context& context,
               const ItemEndedFn& on_ended = {}, CountedNoun called = {});

}  // namespace attnscope
