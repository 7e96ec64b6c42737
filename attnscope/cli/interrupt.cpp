#include "attnscope/cli/interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

namespace attnscope {
namespace {

constexpr int kExitSignalled = 128;  // plus the signal: 130 for Ctrl-C

// Read by a signal handler: fixed in size, published by one atomic store.
std::array<char, 4096> file_to_remove;
std::atomic<bool> has_file{false};

// LAPACK calls cannot be stopped from within and may take seconds, so the process ends here.
void on_interrupt(int signal) {
  if (has_file.load()) unlink(file_to_remove.data());
  constexpr std::string_view kMessage = "\nattnscope: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kExitSignalled + signal);
}

}  // namespace

void stop_on_interrupt() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

RemoveOnInterrupt::RemoveOnInterrupt(const std::string& path) {
  if (path.size() >= file_to_remove.size()) return;
  path.copy(file_to_remove.data(), path.size());
  file_to_remove[path.size()] = '\0';
  has_file.store(true);
}

RemoveOnInterrupt::~RemoveOnInterrupt() { has_file.store(false); }

}  // namespace attnscope
