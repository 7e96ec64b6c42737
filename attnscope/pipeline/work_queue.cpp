#include "attnscope/pipeline/work_queue.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace attnscope {

void run_all(const std::vector<WorkItem>& items, int threads, const ProgressFn& on_progress) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].flops > items[b].flops; });

  Progress progress{.items_total = items.size()};
  for (const WorkItem& item : items) {
    progress.bytes_total += item.bytes;
    progress.flops_total += item.flops;
  }
  std::mutex mutex;  // guards progress and the failure
  std::exception_ptr failure;
  std::size_t failed_item = items.size();
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};

  const auto work = [&] {
    for (std::size_t at = next++; at < order.size() && !stop; at = next++) {
      const WorkItem& item = items[order[at]];
      try {
        item.run();
      } catch (...) {
        const std::scoped_lock lock(mutex);
        stop = true;
        if (order[at] < failed_item) {
          failed_item = order[at];
          failure = std::current_exception();
        }
        return;
      }
      const std::scoped_lock lock(mutex);
      ++progress.items_done;
      progress.bytes_done += item.bytes;
      progress.flops_done += item.flops;
      if (on_progress) on_progress(progress);
    }
  };

  const std::size_t wanted = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<std::jthread> helpers;
  for (std::size_t index = 1; index < std::min(wanted, items.size()); ++index) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace attnscope
