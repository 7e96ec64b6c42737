#include "python/src/interruptible.h"

#include <nanobind/stl/optional.h>

#include <chrono>
#include <condition_variable>
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

constexpr auto kBetweenLooks = 50ms;
constexpr auto kMostDelay = 800ms;  // with all else, an interrupt takes less than a second

/// What the thread that works shares with the one that waits.
struct Shared {
  std::mutex mutex;
  std::condition_variable has_ended;
  bool ended = false;
  std::exception_ptr failure;
  std::optional<Progress> news;  // not shown yet
  std::stop_source stop;
};

void work_and_tell(Shared& shared, const std::function<void(const Waiter&)>& work) {
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
  const std::scoped_lock lock(shared.mutex);
  shared.failure = failure;
  shared.ended = true;
  shared.has_ended.notify_all();
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
void look_up(const nb::object& show_progress, const std::optional<Progress>& news) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (show_progress.is_none() || !news) return;
  show_progress(news->items_done, news->items_total, news->bytes_done, news->bytes_total,
                news->seconds, news->seconds_left);
}

}  // namespace

void run_interruptibly(std::function<void(const Waiter&)> work, const nb::object& show_progress,
                       nb::object kept) {
  const auto shared = std::make_shared<Shared>();
  std::thread thread([shared, work = std::move(work)] { work_and_tell(*shared, work); });
  std::optional<Progress> news;
  try {
    while (!wait(*shared, kBetweenLooks, news)) look_up(show_progress, news);
  } catch (...) {
    shared->stop.request_stop();
    if (wait(*shared, kMostDelay, news)) {
      thread.join();
    } else {
      thread.detach();
      kept.release();
    }
    throw;
  }
  thread.join();
  if (shared->failure) std::rethrow_exception(shared->failure);
}

}  // namespace attnscope::python
