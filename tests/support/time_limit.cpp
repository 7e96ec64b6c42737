#include "tests/support/time_limit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace attnscope::test {

GivenTime::GivenTime(pid_t process)
    : process_(process), start_(std::chrono::steady_clock::now()), before_(waits()) {}

std::map<pid_t, std::uint64_t> GivenTime::waits() const {
  std::map<pid_t, std::uint64_t> found;
  std::error_code ignored;  // if the process has ended
  const std::string threads = "/proc/" + std::to_string(process_) + "/task";
  for (std::filesystem::directory_iterator thread(threads, ignored), end; thread != end;
       thread.increment(ignored)) {
    std::ifstream file(thread->path() / "schedstat");
    std::uint64_t computed = 0, waited = 0;
    if (file >> computed >> waited) found[std::stoi(thread->path().filename())] = waited;
  }
  return found;
}

void GivenTime::look() {
  for (const auto& [thread, waited] : waits()) {
    const auto before = before_.find(thread);
    longest_ = std::max(longest_, waited - (before == before_.end() ? 0 : before->second));
  }
}

double GivenTime::seconds() {
  look();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  return passed.count() - static_cast<double>(longest_) * 1e-9;
}

}  // namespace attnscope::test
