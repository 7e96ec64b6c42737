#include "attnscope/checkpoint/remote_bytes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace attnscope {
namespace {

/// The unit of fetching: small enough for two connections to share one matrix.
constexpr std::uint64_t kPartBytes = std::uint64_t{8} << 20;

}  // namespace

Fetcher::Fetcher() {
  for (int index = 0; index < kAtOnce; ++index) threads_.emplace_back([this] { work(); });
}

Fetcher::~Fetcher() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Fetcher::run(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Fetcher::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (ending_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

RemoteBytes::RemoteBytes(std::span<std::byte> memory, RemoteFile file)
    : memory_(memory), file_(std::move(file)) {}

RemoteBytes::~RemoteBytes() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.wait(lock, [&] { return tasks_ == 0; });
}

RemoteBytes::Stretches::iterator RemoteBytes::at(std::uint64_t byte) {
  auto after = stretches_.upper_bound(byte);
  if (after == stretches_.begin()) return stretches_.end();
  --after;
  return byte < after->second.end ? after : stretches_.end();
}

void RemoteBytes::need(std::uint64_t begin, std::uint64_t end) {
  std::unique_lock lock(mutex_);
  while (begin < end && !ending_) {
    const auto known = at(begin);
    if (known == stretches_.end()) {
      const auto next = stretches_.upper_bound(begin);
      const std::uint64_t gap = next == stretches_.end() ? end : std::min(end, next->first);
      const std::uint64_t stop = std::min(gap, begin + kPartBytes);
      fetch(lock, begin, stop);
      begin = stop;
    } else if (known->second.there) {
      begin = known->second.end;
    } else {
      changed_.wait(lock);  // if that fetch fails, this thread retries and reports the error
    }
  }
}

void RemoteBytes::fetch(std::unique_lock<std::mutex>& lock, std::uint64_t begin,
                        std::uint64_t end) {
  const auto own = stretches_.emplace(begin, Stretch{end, false}).first;
  lock.unlock();
  auto& connections = file_.fetcher->connections();
  const bool large = end - begin >= Fetcher::kLargeBytes;
  if (large) connections.acquire();
  std::exception_ptr failure;
  try {
    file_.source->read(begin, memory_.subspan(static_cast<std::size_t>(begin),
                                              static_cast<std::size_t>(end - begin)));
  } catch (...) {
    failure = std::current_exception();
  }
  if (large) connections.release();
  lock.lock();
  if (failure) {
    stretches_.erase(own);
  } else {
    own->second.there = true;
  }
  changed_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

void RemoteBytes::prefetch(std::uint64_t begin, std::uint64_t end) {
  // One task per part, so that both connections work on one matrix.
  for (std::uint64_t part = begin; part < end; part += kPartBytes) {
    {
      const std::scoped_lock lock(mutex_);
      ++tasks_;
    }
    file_.fetcher->run([this, part, stop = std::min(end, part + kPartBytes)] {
      try {
        need(part, stop);
      } catch (...) {  // a thread that needs these bytes will hit the same error and report it
      }
      const std::scoped_lock lock(mutex_);
      --tasks_;
      changed_.notify_all();  // notified under the lock, because the destructor waits for it
    });
  }
}

void RemoteBytes::forget(std::uint64_t begin, std::uint64_t end) {
  const std::scoped_lock lock(mutex_);
  auto stretch = stretches_.lower_bound(begin);
  if (stretch != stretches_.begin() && std::prev(stretch)->second.end > begin) --stretch;
  while (stretch != stretches_.end() && stretch->first < end) {
    const auto [first, known] = *stretch;
    if (!known.there) {
      ++stretch;
      continue;
    }
    stretch = stretches_.erase(stretch);
    if (first < begin) stretches_.emplace(first, Stretch{begin, true});
    if (known.end > end) stretches_.emplace(end, Stretch{known.end, true});
  }
}

}  // namespace attnscope
