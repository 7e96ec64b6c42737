// Work that clients ask for: one job at a time, a few that wait, and what became of the last ones.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attnscope/results/record.h"
#include "attnscope/run/progress.h"

namespace attnscope {

enum class JobState { queued, running, done, failed, cancelled };

/// A job as it was at one moment.
struct JobView {
  std::int64_t id = 0;
  std::string what;  // "attention", or the id of an analysis
  JobState state = JobState::queued;
  std::optional<Progress> progress;
  std::optional<Record> error;           // of one that failed
  std::optional<std::int64_t> revision;  // of the report that has what it found
  std::uint64_t change = 0;              // the last that happened to it, counted over all jobs

  bool is_over() const { return state != JobState::queued && state != JobState::running; }
};

std::string_view job_state_name(JobState state);
Record job_record(const JobView& job);

/// Gives the revision that it made. It stops when asked to, by throwing Stopped.
using JobWork = std::function<std::int64_t(std::stop_token stop, const ProgressFn& progress)>;

class Jobs {
 public:
  Jobs();
  /// Cancels all, and waits for the one that runs.
  ~Jobs();

  /// The new job's id; nothing where too many wait.
  std::optional<std::int64_t> add(std::string what, JobWork work);

  std::optional<JobView> find(std::int64_t id);

  /// The job once more happened to it than `seen`, or when `most` is over.
  std::optional<JobView> wait(std::int64_t id, std::uint64_t seen, std::chrono::milliseconds most);

  /// The jobs to which something happened after the change `seen`, as soon as there are such; none
  /// when `most` is over.
  std::vector<JobView> wait_for_any(std::uint64_t seen, std::chrono::milliseconds most);

  /// Asks a job to stop; one that waits is over at once.
  std::optional<JobView> cancel(std::int64_t id);

  /// The jobs that wait or run.
  std::vector<JobView> under_way();

  /// Cancels all; nothing can be added any more, and no wait() lasts.
  void end();
  bool is_over();

 private:
  struct Job {
    JobView view;
    JobWork work;
    std::stop_source stop;
  };
  using JobPointer = std::shared_ptr<Job>;

  JobPointer find_job(std::int64_t id) const;
  void run_all();
  void run(Job& job);
  void change(Job& job, const std::function<void(JobView&)>& how);
  void count_change(JobView& view);  // with the lock
  void forget_old();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<JobPointer> jobs_;  // by id
  std::int64_t last_id_ = 0;
  std::uint64_t changes_ = 0;
  bool over_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace attnscope
