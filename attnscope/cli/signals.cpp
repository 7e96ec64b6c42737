#include "attnscope/cli/signals.h"

#include <unistd.h>

#include <chrono>
#include <string_view>

namespace attnscope {
namespace {

using namespace std::chrono_literals;

constexpr int kExitSignalled = 128;

// With what the system takes to end a process of many gigabytes, within a second.
constexpr auto kMostDelay = 800ms;

}  // namespace

SignalWatch::SignalWatch() {
  sigset_t watched;
  sigemptyset(&watched);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaddset(&watched, signal);
    any = true;
  }
  if (!any) return;
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  thread_ = std::thread([this, watched] { wait_for_signal(watched); });
}

SignalWatch::~SignalWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  // Wakes the thread alone, whichever of the three it waits for.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) pthread_kill(thread_.native_handle(), signal);
  thread_.join();
}

int SignalWatch::exit_code() {
  const std::lock_guard lock(mutex_);
  return signal_ == 0 ? 0 : kExitSignalled + signal_;
}

void SignalWatch::wait_for_signal(sigset_t watched) {
  int signal = 0;
  if (sigwait(&watched, &signal) != 0) return;
  std::unique_lock lock(mutex_);
  if (over_) return;
  signal_ = signal;
  lock.unlock();
  stop_.request_stop();
  constexpr std::string_view kMessage = "\nattnscope: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  lock.lock();
  if (over_changed_.wait_for(lock, kMostDelay, [&] { return over_; })) return;
  _exit(kExitSignalled + signal);
}

}  // namespace attnscope
