#include "attnscope/numerics/compute.h"

#include <algorithm>
#include <exception>

namespace attnscope {

struct Team::Job {
  std::size_t count;
  const std::function<void(std::size_t)>* part;
  std::atomic<std::size_t> next{0};
  std::size_t helpers = 0;  // guarded by the team's mutex, like the failure
  std::exception_ptr failure = nullptr;
};

void Team::work_on(Job& job) {
  for (std::size_t at = job.next++; at < job.count; at = job.next++) {
    try {
      (*job.part)(at);
    } catch (...) {
      job.next = job.count;
      const std::scoped_lock lock(mutex_);
      if (!job.failure) job.failure = std::current_exception();
    }
  }
}

void Team::run(std::size_t count, const std::function<void(std::size_t)>& part) {
  if (count < 2 || lent_ == 0) {
    for (std::size_t at = 0; at < count; ++at) part(at);
    return;
  }
  Job job{.count = count, .part = &part};
  {
    const std::scoped_lock lock(mutex_);
    open_.push_back(&job);
  }
  work_or_recall_.notify_all();
  work_on(job);
  std::unique_lock lock(mutex_);
  std::erase(open_, &job);
  helper_left_.wait(lock, [&] { return job.helpers == 0; });
  if (job.failure) std::rethrow_exception(job.failure);
}

void Team::lend(const std::function<bool()>& done) {
  const auto with_parts_left = [](const Job* job) { return job->next < job->count; };
  ++lent_;
  std::unique_lock lock(mutex_);
  while (true) {
    auto found = open_.end();
    work_or_recall_.wait(lock, [&] {
      found = std::find_if(open_.begin(), open_.end(), with_parts_left);
      return found != open_.end() || done();
    });
    if (done()) break;
    Job& job = **found;
    ++job.helpers;
    lock.unlock();
    work_on(job);
    lock.lock();
    if (--job.helpers == 0) helper_left_.notify_all();
  }
  --lent_;
}

void Team::recall() {
  // Locking the mutex ensures that no thread is between its check and its wait.
  { const std::scoped_lock lock(mutex_); }
  work_or_recall_.notify_all();
}

void run_parts(const Compute& compute, std::size_t count,
               const std::function<void(std::size_t)>& part) {
  const auto unless_stopped = [&](std::size_t at) {
    compute.check_stop();
    part(at);
  };
  if (compute.team != nullptr) return compute.team->run(count, unless_stopped);
  for (std::size_t at = 0; at < count; ++at) unless_stopped(at);
}

}  // namespace attnscope
