#include "attnscope/numerics/parts.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

namespace attnscope {
namespace {

struct Job {
  std::size_t count;
  const std::function<void(std::size_t)>* part;
  std::atomic<std::size_t> next{0};
  std::size_t helpers = 0;  // guarded by the pool's mutex, as is the failure
  std::exception_ptr failure = nullptr;
};

struct Pool {
  std::mutex mutex;
  std::condition_variable work_or_recall, helper_left;
  std::vector<Job*> open;
  std::atomic<std::size_t> lent{0};  // threads that are in lend_thread
};

Pool& pool() {
  static Pool shared;
  return shared;
}

void work_on(Job& job) {
  for (std::size_t at = job.next++; at < job.count; at = job.next++) {
    try {
      (*job.part)(at);
    } catch (...) {
      job.next = job.count;
      const std::scoped_lock lock(pool().mutex);
      if (!job.failure) job.failure = std::current_exception();
    }
  }
}

}  // namespace

void run_parts(std::size_t count, const std::function<void(std::size_t)>& part) {
  Pool& shared = pool();
  if (count < 2 || shared.lent == 0) {
    for (std::size_t at = 0; at < count; ++at) part(at);
    return;
  }
  Job job{.count = count, .part = &part};
  {
    const std::scoped_lock lock(shared.mutex);
    shared.open.push_back(&job);
  }
  shared.work_or_recall.notify_all();
  work_on(job);
  std::unique_lock lock(shared.mutex);
  std::erase(shared.open, &job);
  shared.helper_left.wait(lock, [&] { return job.helpers == 0; });
  if (job.failure) std::rethrow_exception(job.failure);
}

void lend_thread(const std::function<bool()>& done) {
  Pool& shared = pool();
  const auto with_parts_left = [](const Job* job) { return job->next < job->count; };
  ++shared.lent;
  std::unique_lock lock(shared.mutex);
  while (true) {
    auto found = shared.open.end();
    shared.work_or_recall.wait(lock, [&] {
      found = std::find_if(shared.open.begin(), shared.open.end(), with_parts_left);
      return found != shared.open.end() || done();
    });
    if (done()) break;
    Job& job = **found;
    ++job.helpers;
    lock.unlock();
    work_on(job);
    lock.lock();
    if (--job.helpers == 0) shared.helper_left.notify_all();
  }
  --shared.lent;
}

void recall_lent_threads() {
  // Under the mutex, so that no thread is between asking and waiting.
  { const std::scoped_lock lock(pool().mutex); }
  pool().work_or_recall.notify_all();
}

}  // namespace attnscope
