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
constexpr auto kMaxDelay = 800ms;  // with all else, an interrupt takes less than a second

/// What the thread that works shares with the one that waits.
struct Shared {
  std::mutex mutex;
  std::condition_variable has_ended;
  bool ended = false;
  std::exception_ptr failure;
  std::optional<Progress> news;  // not shown yet
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
  work = nullptr;  // what it owns goes before anybody goes on
  const std::scoped_lock lock(shared.mutex);
  shared.failure = failure;
  shared.ended = true;
  shared.has_ended.notify_all();
}

/// A thread that does one task after another.
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

  /// When it is idle.
  void start(std::function<void()> task) {
    const std::scoped_lock lock(state_->mutex);
    state_->task = std::move(task);
    state_->has_changed.notify_one();
  }

  /// It ends after the task that it is at, whenever that is.
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

/// glibc gives what is freed back to the system from a size on that grows with the largest block
/// that was ever mapped and freed, up to 32 MB. With such a block, though it is never touched, it
/// keeps the memory of one piece of work for the next, which else takes it anew page by page.
void keep_heap_untrimmed() {
  constexpr std::size_t kLargest = (std::size_t{32} << 20) - (std::size_t{64} << 10);
  void* volatile block = std::malloc(kLargest);  // volatile: else a compiler leaves both out
  std::free(block);
}

/// The one that stays with the calling thread, which a fork leaves behind.
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

/// Whether work has ended. Other threads of Python run meanwhile.
bool wait(Shared& shared, std::chrono::milliseconds most, std::optional<Progress>& news) {
  const nb::gil_scoped_release release;
  std::unique_lock lock(shared.mutex);
  shared.has_ended.wait_for(lock, most, [&] { return shared.ended; });
  news = std::exchange(shared.news, std::nullopt);
  return shared.ended;
}

/// Throws what a signal's handler or the call raises.
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
