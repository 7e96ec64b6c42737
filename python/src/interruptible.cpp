#include "python/src/interruptible.h"

#include <nanobind/stl/optional.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace attnscope::python {
namespace {

namespace nb = nanobind;
using namespace std::chrono_literals;

constexpr auto kProgressInterval = 50ms;
constexpr auto kMaxDelay = 800ms;  // keeps the total delay of an interrupt below one second

/// State shared by the working thread and the waiting thread.
struct Shared {
  std::mutex mutex;
  std::condition_variable has_ended;
  bool ended = false;
  std::exception_ptr failure;
  std::optional<Progress> news;  // progress that has not been shown yet
  std::stop_source stop;
};

void work_and_report(Shared& shared, std::function<void(const Waiter&)> work) {
  const Waiter waiter{.stop = shared.stop.get_token(),
                      .on_progress = [&](const Progress& progress) {
                        const std::scoped_lock lock(shared.mutex);
                        shared.news = progress;
                      }};
  std::exception_ptr failure;
  try {
    work(waiter);
  } catch (...) {
    failure = std::current_exception();
  }
  work = nullptr;  // releases what it owns before the waiting thread continues
  const std::scoped_lock lock(shared.mutex);
  shared.failure = failure;
  shared.ended = true;
  shared.has_ended.notify_all();
}

/// A thread that runs one task after another.
class Helper {
 public:
  Helper() : thread_([state = state_] { serve(*state); }) {}
  ~Helper() {
    if (!thread_.joinable()) return;
    end();
    thread_.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// Starts a task. The thread must be idle.
  void start(std::function<void()> task) {
    const std::scoped_lock lock(state_->mutex);
    state_->task = std::move(task);
    state_->has_changed.notify_one();
  }

  /// Detaches the thread, which ends after its current task.
  void abandon() {
    end();
    thread_.detach();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable has_changed;
    std::function<void()> task;
    bool over = false;
  };

  void end() {
    const std::scoped_lock lock(state_->mutex);
    state_->over = true;
    state_->has_changed.notify_one();
  }

  static void serve(State& state) {
    std::unique_lock lock(state.mutex);
    while (true) {
      state.has_changed.wait(lock, [&] { return state.over || state.task; });
      if (!state.task) return;
      const auto task = std::exchange(state.task, nullptr);
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

/// glibc returns freed memory to the system above a threshold, which grows with the largest block
/// that was ever mapped and freed, up to 32 MB. Freeing an untouched block of that size raises the
/// threshold. The memory of one task then stays mapped for the next task, without new page faults.
void keep_heap_untrimmed() {
  constexpr std::size_t kLargest = (std::size_t{32} << 20) - (std::size_t{64} << 10);
  void* volatile block = std::malloc(kLargest);  // volatile: else both calls are optimized out
  std::free(block);
}

/// Returns the calling thread's helper. After a fork its thread is gone, so a new one is made.
std::unique_ptr<Helper>& staying_helper() {
  thread_local std::unique_ptr<Helper> helper;
  thread_local pid_t process = 0;
  if (process != getpid()) {
    static_cast<void>(helper.release());
    process = getpid();
  }
  if (helper == nullptr) {
    keep_heap_untrimmed();
    helper = std::make_unique<Helper>();
  }
  return helper;
}

/// Waits without the GIL. Returns whether the work has ended.
bool wait(Shared& shared, std::chrono::milliseconds most, std::optional<Progress>& news) {
  const nb::gil_scoped_release release;
  std::unique_lock lock(shared.mutex);
  shared.has_ended.wait_for(lock, most, [&] { return shared.ended; });
  news = std::exchange(shared.news, std::nullopt);
  return shared.ended;
}

/// Throws what a signal handler or `show_progress` raises.
void report_progress(const nb::object& show_progress, const std::optional<Progress>& news) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (show_progress.is_none() || !news) return;
  show_progress(news->items_done, news->items_total, news->bytes_done, news->bytes_total,
                news->seconds, news->seconds_left);
}

}  // namespace

void run_interruptibly(std::function<void(const Waiter&)> work, const nb::object& show_progress,
                       nb::object kept, WorkThread where) {
  const auto shared = std::make_shared<Shared>();
  std::unique_ptr<Helper> own;
  if (where == WorkThread::own) own = std::make_unique<Helper>();
  std::unique_ptr<Helper>& helper = own != nullptr ? own : staying_helper();
  helper->start([shared, work = std::move(work)]() mutable {
    work_and_report(*shared, std::exchange(work, nullptr));
  });
  std::optional<Progress> news;
  try {
    while (!wait(*shared, kProgressInterval, news)) report_progress(show_progress, news);
  } catch (...) {
    shared->stop.request_stop();
    if (!wait(*shared, kMaxDelay, news)) {
      helper->abandon();
      helper.reset();
      kept.release();
    }
    throw;
  }
  if (shared->failure) std::rethrow_exception(shared->failure);
}

}  // namespace attnscope::python
