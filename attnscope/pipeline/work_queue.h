// Runs independent pieces of work on several threads, the largest first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace attnscope {

struct WorkItem {
  double flops = 0;         // arithmetic it will take, for order and for the time left
  std::uint64_t bytes = 0;  // it will read
  std::function<void()> run;
};

struct Progress {
  std::size_t items_done = 0, items_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;
  double flops_done = 0, flops_total = 0;
};

/// Called after every item, never by two threads at once.
using ProgressFn = std::function<void(const Progress&)>;

/// Runs every item once. An exception ends the run: items under way are finished, no new ones
/// start, and it is thrown again here (the earliest item's, where several throw).
void run_all(const std::vector<WorkItem>& items, int threads, const ProgressFn& on_progress);

/// The machine's cores, at least 1.
int default_threads();

}  // namespace attnscope
