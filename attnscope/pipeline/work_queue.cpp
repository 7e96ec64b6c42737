#include "attnscope/pipeline/work_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "attnscope/numerics/team.h"
#include "attnscope/pipeline/compute_bridge.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenReports = std::chrono::milliseconds(100);

std::vector<std::size_t> largest_first(const std::vector<WorkItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].flops > items[b].flops; });
  return order;
}

Progress total_of(const std::vector<WorkItem>& items) {
  Progress total{.items_total = items.size()};
  for (const WorkItem& item : items) {
    total.bytes_total += item.bytes;
    total.flops_total += item.flops;
  }
  return total;
}

/// Threads beyond one for each item only help with what items are made of, which is worth starting
/// them where that is large.
std::size_t worker_count(const std::vector<WorkItem>& items, int threads) {
  constexpr double kLargeFlops = 1e9;
  const auto wanted = static_cast<std::size_t>(std::max(threads, 1));
  const bool any_large = std::any_of(
      items.begin(), items.end(), [](const WorkItem& item) { return item.flops >= kLargeFlops; });
  return any_large ? wanted : std::min(wanted, items.size());
}

/// One run. Workers take items; the thread that called reads ahead for them and reports.
class WorkQueue {
 public:
  WorkQueue(const std::vector<WorkItem>& items, const Resources& resources)
      : items_(items),
        order_(largest_first(items)),
        workers_(worker_count(items, resources.threads)),
        budget_bytes_(resources.memory_bytes),
        prefetches_any_(std::any_of(items.begin(), items.end(),
                                    [](const WorkItem& item) { return bool(item.prefetch); })),
        waiting_(order_.begin(), order_.end()),
        states_(items.size(), State::waiting),
        meter_(total_of(items), workers_) {}

  void run(const ProgressFn& on_progress) {
    {
      std::vector<std::jthread> workers;
      for (std::size_t index = 0; index < workers_; ++index) workers.emplace_back([&] { work(); });
      watch(on_progress);
    }  // joined
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  enum class State { waiting, prefetched, started };
  using Lock = std::unique_lock<std::mutex>;

  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool is_over() const { return waiting_.empty() && running_ == 0; }

  void work() {
    bridge_team() = &team_;
    Lock lock(mutex_);
    while (!is_over()) {
      const auto index = take_item();
      if (!index) {
        be_idle(lock);
        continue;
      }
      const WorkItem& item = items_[*index];
      meter_.start(*index, item.flops, now());
      if (prefetches_any_) watcher_.notify_one();
      lock.unlock();
      std::exception_ptr failure;
      try {
        item.run();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      end_item(*index, failure);
    }
  }

  /// The largest waiting item that fits, now counted as running.
  std::optional<std::size_t> take_item() {
    const std::uint64_t left_bytes = budget_bytes_ - std::min(budget_bytes_, in_flight_bytes_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](std::size_t index) {
      return running_ == 0 || items_[index].memory_bytes <= left_bytes;
    });
    if (found == waiting_.end()) return std::nullopt;
    const std::size_t index = *found;
    waiting_.erase(found);
    ++running_;
    in_flight_bytes_ += items_[index].memory_bytes;
    if (states_[index] == State::prefetched) prefetched_bytes_ -= items_[index].bytes;
    states_[index] = State::started;
    return index;
  }

  void end_item(std::size_t index, const std::exception_ptr& failure) {
    const WorkItem& item = items_[index];
    --running_;
    ++ended_;
    in_flight_bytes_ -= item.memory_bytes;
    meter_.finish(index, item.bytes, now());
    if (failure && (!failure_ || index < failed_item_)) {
      failure_ = failure;
      failed_item_ = index;
    }
    if (failure_) waiting_.clear();
    team_.recall();
    if (is_over()) watcher_.notify_one();
  }

  /// Where a worker is that can start nothing, for want of items or of memory: it helps with those
  /// under way until one ends, which may change either.
  void be_idle(Lock& lock) {
    const std::size_t seen = ended_;
    lock.unlock();
    team_.lend([&] { return ended_ != seen; });
    lock.lock();
  }

  void watch(const ProgressFn& on_progress) {
    Lock lock(mutex_);
    auto next_report = start_ + kBetweenReports;
    while (!is_over()) {
      if (prefetch_next(lock)) continue;
      if (!on_progress) {
        watcher_.wait(lock);
        continue;
      }
      watcher_.wait_until(lock, next_report);
      if (Clock::now() < next_report || is_over()) continue;
      next_report = Clock::now() + kBetweenReports;
      const Progress progress = meter_.read(now());
      lock.unlock();
      on_progress(progress);
      lock.lock();
    }
    if (!on_progress || failure_ || order_.empty()) return;
    const Progress progress = meter_.read(now());
    lock.unlock();
    on_progress(progress);
  }

  /// Of the items under way and as many after them as there are workers, prefetches one that was
  /// not yet. False where there is none, or what is read ahead would not fit.
  bool prefetch_next(Lock& lock) {
    const std::size_t started = running_ + ended_;
    if (prefetches_ == order_.size() || prefetches_ >= started + workers_) return false;
    const std::size_t index = order_[prefetches_];
    const WorkItem& item = items_[index];
    if (states_[index] == State::waiting) {
      const std::uint64_t taken_bytes = in_flight_bytes_ + prefetched_bytes_;
      if (item.bytes > budget_bytes_ - std::min(budget_bytes_, taken_bytes)) return false;
      states_[index] = State::prefetched;
      prefetched_bytes_ += item.bytes;
    }
    ++prefetches_;
    if (!item.prefetch) return true;
    lock.unlock();
    item.prefetch();
    lock.lock();
    return true;
  }

  const std::vector<WorkItem>& items_;
  const std::vector<std::size_t> order_;
  const std::size_t workers_;
  const std::uint64_t budget_bytes_;
  const bool prefetches_any_;
  const Clock::time_point start_ = Clock::now();

  Team team_;  // idle workers help with what is under way

  std::mutex mutex_;                    // guards all below
  std::condition_variable watcher_;     // there may be something to prefetch, or all have ended
  std::list<std::size_t> waiting_;      // in order
  std::vector<State> states_;           // by item
  std::size_t running_ = 0;             // items
  std::atomic<std::size_t> ended_ = 0;  // items; idle workers read it without the mutex
  std::size_t prefetches_ = 0;          // items of `order_`, from its start, that were prefetched
  std::uint64_t in_flight_bytes_ = 0;   // memory of running items
  std::uint64_t prefetched_bytes_ = 0;  // of items that are still waiting
  ProgressMeter meter_;
  std::exception_ptr failure_;
  std::size_t failed_item_ = 0;
};

}  // namespace

void run_all(const std::vector<WorkItem>& items, const Resources& resources,
             const ProgressFn& on_progress) {
  WorkQueue(items, resources).run(on_progress);
}

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace attnscope
