#include "attnscope/engine/work_queue.h"

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

#include "attnscope/numerics/compute.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenReports = std::chrono::milliseconds(100);

/// Maximum number of items that wait for other processes at the same time. Each takes a thread,
/// which only waits and uses about 20 KB.
constexpr std::size_t kMaxElsewhere = 1024;

/// Minimum FLOPs of an item that other threads can help with.
constexpr double kLargeFlops = 1e9;

std::vector<std::size_t> largest_first(const std::vector<QueueItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].flops > items[b].flops; });
  return order;
}

Progress total_of(const std::vector<QueueItem>& items, CountedNoun called) {
  Progress total{.items = called, .items_total = items.size()};
  for (const QueueItem& item : items) {
    total.bytes_total += item.bytes;
    total.flops_total += item.flops;
  }
  return total;
}

/// Returns the number of workers. A thread without an item can only help with a matrix of another
/// item. That pays off if the matrix is large and computed in this process.
std::size_t worker_count(const std::vector<QueueItem>& items, const Context& context) {
  if (context.compute_elsewhere) return std::min(kMaxElsewhere, items.size());
  const auto wanted = static_cast<std::size_t>(std::max(context.threads, 1));
  const bool any_large = std::any_of(
      items.begin(), items.end(), [](const QueueItem& item) { return item.flops >= kLargeFlops; });
  return any_large ? wanted : std::min(wanted, items.size());
}

/// One run. Workers compute items. The calling thread prefetches for them, reports finished items,
/// and reports progress.
class WorkQueue {
 public:
  WorkQueue(const std::vector<QueueItem>& items, const Context& context,
            const ItemEndedFn& on_ended, CountedNoun called)
      : items_(items),
        context_(context),
        on_ended_(on_ended),
        order_(largest_first(items)),
        workers_(worker_count(items, context)),
        budget_bytes_(context.compute_elsewhere ? UINT64_MAX : context.memory_bytes),
        waiting_(order_.begin(), order_.end()),
        states_(items.size(), State::waiting),
        meter_(total_of(items, called), workers_) {}

  void run() {
    // Otherwise a worker could take an item before the watching thread sees the stop.
    if (context_.stop.stop_requested()) throw Stopped();
    {
      std::vector<std::jthread> workers;
      for (std::size_t index = 0; index < workers_; ++index) workers.emplace_back([&] { work(); });
      Lock lock(mutex_);
      try {
        watch(lock);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        fail(std::current_exception());
      }
    }  // joined
    if (failure_) std::rethrow_exception(failure_);
    if (stopped_) throw Stopped();
    report_ended();
    if (context_.on_progress && !order_.empty()) context_.on_progress(meter_.read(now()));
  }

 private:
  enum class State { waiting, prefetched, started };
  using Lock = std::unique_lock<std::mutex>;

  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool is_over() const { return waiting_.empty() && running_ == 0; }

  /// Keeps the first failure as the result of the run. Running items end soon.
  void fail(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    stop_items();
  }

  void stop_items() {
    waiting_.clear();
    stop_.request_stop();
    team_.recall();
  }

  void work() {
    const Compute compute{.kernels = context_.kernels, .team = &team_, .stop = stop_.get_token()};
    Lock lock(mutex_);
    while (!is_over()) {
      const auto index = take_item();
      if (!index) {
        if (context_.compute_elsewhere) return;  // no item here can be helped
        be_idle(lock);
        continue;
      }
      const QueueItem& item = items_[*index];
      meter_.start(*index, item.flops, now());
      watcher_.notify_one();
      lock.unlock();
      std::exception_ptr failure;
      bool was_stopped = false;
      try {
        item.run(compute);
      } catch (const Stopped&) {
        was_stopped = true;
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure) fail(std::move(failure));
      if (was_stopped) stopped_ = true;
      end_item(*index, /*well=*/!failure && !was_stopped);
    }
  }

  /// Returns the largest waiting item that fits, and counts it as running.
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

  void end_item(std::size_t index, bool well) {
    const QueueItem& item = items_[index];
    --running_;
    ++count_ended_;
    in_flight_bytes_ -= item.memory_bytes;
    meter_.finish(index, item.bytes, now());
    if (well) ended_.push_back(index);
    team_.recall();
    watcher_.notify_one();
  }

  /// Lends a worker that cannot start an item (no items or no memory left) to running items. It
  /// returns when one of them ends, because a new item may then fit.
  void be_idle(Lock& lock) {
    const std::size_t seen = count_ended_;
    lock.unlock();
    team_.lend([&] { return count_ended_ != seen || stop_.stop_requested(); });
    lock.lock();
  }

  void watch(Lock& lock) {
    auto next_report = start_ + kBetweenReports;
    while (!is_over()) {
      if (context_.stop.stop_requested() && !stop_.stop_requested()) {
        stopped_ = true;
        stop_items();
      }
      if (!ended_.empty()) {
        lock.unlock();
        report_ended();
        lock.lock();
        continue;
      }
      if (prefetch_next(lock)) continue;
      watcher_.wait_until(lock, next_report);
      if (Clock::now() < next_report || is_over()) continue;
      next_report = Clock::now() + kBetweenReports;
      if (!context_.on_progress) continue;
      const Progress progress = meter_.read(now());
      lock.unlock();
      context_.on_progress(progress);
      lock.lock();
    }
  }

  void report_ended() {
    std::vector<std::size_t> ended;
    {
      const std::scoped_lock lock(mutex_);
      ended.swap(ended_);
    }
    if (!on_ended_) return;
    for (const std::size_t index : ended) on_ended_(index);
  }

  /// Prefetches the next item. Prefetched are the running items and as many following ones as there
  /// are workers. Returns false if all of these are prefetched, or if there is no memory for more.
  bool prefetch_next(Lock& lock) {
    const std::size_t started = running_ + count_ended_;
    if (prefetches_ == order_.size() || prefetches_ >= started + workers_) return false;
    const std::size_t index = order_[prefetches_];
    const QueueItem& item = items_[index];
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

  const std::vector<QueueItem>& items_;
  const Context& context_;
  const ItemEndedFn& on_ended_;
  const std::vector<std::size_t> order_;
  const std::size_t workers_;
  const std::uint64_t budget_bytes_;
  const Clock::time_point start_ = Clock::now();
  Team team_;  // of the workers: idle ones help the others
  std::stop_source stop_;

  std::mutex mutex_;                          // guards all members below
  std::condition_variable watcher_;           // there may be something to prefetch or to report
  std::list<std::size_t> waiting_;            // in order
  std::vector<State> states_;                 // by item
  std::size_t running_ = 0;                   // number of running items
  std::atomic<std::size_t> count_ended_ = 0;  // ended items; idle workers read it without the mutex
  std::vector<std::size_t> ended_;            // finished without an error, not yet reported
  std::size_t prefetches_ = 0;          // number of prefetched items, from the start of `order_`
  std::uint64_t in_flight_bytes_ = 0;   // memory of running items
  std::uint64_t prefetched_bytes_ = 0;  // prefetched for waiting items
  ProgressMeter meter_;
  std::exception_ptr failure_;
  bool stopped_ = false;
};

}  // namespace

void run_queue(const std::vector<QueueItem>& items, const Context& context,
               const ItemEndedFn& on_ended, CountedNoun called) {
  WorkQueue(items, context, on_ended, called).run();
}

void run_with_all_threads(const Context& context, const std::function<void(const Compute&)>& work,
                          CountedNoun called) {
  run_queue({{.flops = kLargeFlops, .run = work}}, context, {}, called);
}

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace attnscope
