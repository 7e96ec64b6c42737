#include "attnscope/cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

namespace attnscope {
namespace {

using namespace std::chrono_literals;

constexpr int kExitSignalled = 128;
constexpr std::array kWatched = {SIGINT, SIGTERM, SIGHUP};

// Together with the time that the system needs to end a process of many gigabytes, this stays
// within a second.
constexpr auto kMaxDelay = 800ms;

// Passes signal numbers, one byte each, from the handlers to the waiting thread.
std::array<int, 2> signals_pipe = {-1, -1};

// Blocking signals and waiting for them would need no handler. But OpenBLAS starts threads before
// main, and those do not block signals.
void pass_on(int signal) {
  const int error = errno;
  const auto number = static_cast<unsigned char>(signal);
  [[maybe_unused]] const auto written = write(signals_pipe[1], &number, 1);
  errno = error;
}

}  // namespace

SignalWatch::SignalWatch() {
  if (pipe2(signals_pipe.data(), O_CLOEXEC) != 0) return;  // signals then end the process
  thread_ = std::thread([this] { wait_for_signal(); });
  for (const int signal : kWatched) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  for (const int signal : kWatched) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != pass_on) continue;
    std::signal(signal, SIG_IGN);  // the work is done, only the exit of the process remains
  }
  pass_on(0);  // wakes the thread
  thread_.join();
  for (int& end : signals_pipe) close(std::exchange(end, -1));
}

int SignalWatch::exit_code() {
  const std::lock_guard lock(mutex_);
  return media_input_ == 0 ? 0 : kExitSignalled + media_input_;
}

void SignalWatch::wait_for_signal() {
  unsigned char number = 0;
  while (read(signals_pipe[0], &number, 1) < 0 && errno == EINTR) {
  }
  std::unique_lock lock(mutex_);
  if (over_) return;
  media_input_ = number;
  lock.unlock();
  stop_.request_stop();
  constexpr std::string_view kMessage = "\nattnscope: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  lock.lock();
  if (over_changed_.wait_for(lock, kMaxDelay, [&] { return over_; })) return;
  _exit(kExitSignalled + media_input_);
}

}  // namespace attnscope
