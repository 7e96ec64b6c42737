// Jobs that clients start: one runs at a time, a few may wait, and the last finished ones are
// remembered. A job that no client watches anymore is cancelled.
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

#include "attnscope/engine/progress.h"
#include "attnscope/rows/record.h"
#include "attnscope/serve/limits.h"

namespace attnscope {

enum class JobState { queued, running, done, failed, cancelled };

/// The state of a job at one moment.
struct JobView {
  std::int64_t id = 0;
  std::string what;  // "attention", or the id of an analysis
  JobState state = JobState::queued;
  std::optional<Progress> progress;
  std::optional<Record> error;           // if it failed
  std::optional<std::int64_t> revision;  // revision of the report with its results
  std::uint64_t change = 0;              // number of its last change, counted over all jobs

  bool is_over() const { return state != JobState::queued && state != JobState::running; }
};

std::string_view job_state_name(JobState state);
Record job_record(const JobView& job);

/// Returns the revision of the report that it made. Throws Stopped when asked to stop.
using JobWork = std::function<std::int64_t(std::stop_token stop, const ProgressFn& progress)>;

class Jobs {
 public:
  /// Cancels a job that no client has watched for `unwatched`; 0: never.
  explicit Jobs(std::chrono::milliseconds unwatched = kUnwatchedTime);
  /// Cancels all jobs, and waits for the running one.
  ~Jobs();

  /// Who started a job. A job of the server itself needs no watching client.
  enum class Owner { client, server };

  /// Adds a job and returns its id; nothing if too many wait. Its client counts as watching now.
  std::optional<std::int64_t> add(std::string what, JobWork work, Owner owner = Owner::client);

  /// Counts as watching a job until the result and its copies are destroyed, and for the time
  /// `unwatched` after that. Without an id: all jobs, including later ones. The result refers to
  /// this object.
  std::shared_ptr<void> watch(std::optional<std::int64_t> id = {});

  std::optional<JobView> find(std::int64_t id);

  /// Waits for at most `most` until the job has a change after `seen`, and returns the job.
  std::optional<JobView> wait(std::int64_t id, std::uint64_t seen, std::chrono::milliseconds most);

  /// Waits for at most `most` until jobs have changes after `seen`, and returns these jobs; none
  /// after a timeout.
  std::vector<JobView> wait_for_any(std::uint64_t seen, std::chrono::milliseconds most);

  /// Asks a job to stop. A waiting job ends at once.
  std::optional<JobView> cancel(std::int64_t id);

  /// The jobs that are waiting or running.
  std::vector<JobView> under_way();

  /// Cancels all jobs. No more can be added, and every wait() returns.
  void end();
  bool is_over();

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    JobView view;
    JobWork work;
    Owner owner = Owner::client;
    int watchers = 0;
    Clock::time_point watched = Clock::now();  // last time a client watched
    std::stop_source stop;
  };
  using JobPointer = std::shared_ptr<Job>;

  JobPointer find_job(std::int64_t id) const;
  void count_watcher(std::optional<std::int64_t> id, int change);
  bool is_unwanted(const Job& job) const;  // call with the lock held
  void cancel_unwanted();
  void run_all();
  void run(Job& job);
  void change(Job& job, const std::function<void(JobView&)>& how);
  void count_change(JobView& view);  // call with the lock held
  void forget_old();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<JobPointer> jobs_;  // by id
  std::int64_t last_id_ = 0;
  std::uint64_t changes_ = 0;
  bool over_ = false;
  std::chrono::milliseconds unwatched_;
  int watchers_of_all_ = 0;
  std::jthread canceller_, thread_;  // the last members: they use the others
};

}  // namespace attnscope
