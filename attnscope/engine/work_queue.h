// Runs independent items on several threads, largest first, within a memory budget.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct QueueItem {
  double flops = 0;                // estimated arithmetic; decides the order and the time left
  std::uint64_t bytes = 0;         // bytes that the item reads
  std::uint64_t memory_bytes = 0;  // peak memory in addition to the mapped files
  /// Throws Stopped soon after its Compute requests a stop.
  std::function<void(const Compute&)> run;
  /// Asks the system to read the item's bytes, without waiting for them. May be empty.
  std::function<void()> prefetch = {};
};

/// Called on the thread that called run_queue(), after an item has succeeded.
using ItemEndedFn = std::function<void(std::size_t index)>;

/// Runs every item once. A free thread takes the largest item that fits into the memory budget next
/// to the running items. An item that needs more than the whole budget runs alone. The next items
/// are prefetched if memory is left. An exception from an item or a callback ends the run: running
/// items are stopped, no new ones start, and the exception is rethrown here. A stop ends the run in
/// the same way, with Stopped. The progress callback is called once more at the end. `called`: the
/// name of the items in progress reports.
void run_queue(const std::vector<QueueItem>& items, const Context& context,
               const ItemEndedFn& on_ended = {}, CountedNoun called = {});

/// Runs one task, with the help of all threads of the run.
void run_with_all_threads(const Context& context, const std::function<void(const Compute&)>& work,
                          CountedNoun called = {});

// All threads of a run for one task at a time, without a plan of items.

/// Lends its threads, as long as it exists, to tasks that use compute() on the calling thread.
class LentTeam {
 public:
  explicit LentTeam(const Context& context) : context_(context) {
    try {
      for (int thread = 1; thread < context.threads; ++thread) {
        threads_.emplace_back([this] { team_.lend([this] { return over_.load(); }); });
      }
    } catch (...) {  // no more threads available: do not wait for those already lent
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
  std::vector<std::jthread> threads_;  // the last member: joined before the others are destroyed
};

}  // namespace attnscope
