#include "attnscope/serve/jobs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

Record progress_record(const Progress& progress) {
  return {{"done", static_cast<std::int64_t>(progress.items_done)},
          {"total", static_cast<std::int64_t>(progress.items_total)},
          {"seconds", progress.seconds},
          {"seconds_left", progress.seconds_left}};
}

}  // namespace

std::string_view job_state_name(JobState state) {
  constexpr std::string_view kNames[] = {"queued", "running", "done", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

Record job_record(const JobView& job) {
  Record record = {{"job", job.id}, {"what", job.what}, {"state", job_state_name(job.state)}};
  std::optional<Record> progress;
  if (job.progress) progress = progress_record(*job.progress);
  return record.add("progress", progress).add("revision", job.revision).add("error", job.error);
}

Jobs::Jobs(std::chrono::milliseconds unwatched)
    : unwatched_(unwatched),
      canceller_([this] { cancel_unwanted(); }),
      thread_([this] { run_all(); }) {}

Jobs::~Jobs() { end(); }

std::optional<std::int64_t> Jobs::add(std::string what, JobWork work, Owner owner) {
  const std::scoped_lock lock(mutex_);
  const auto waiting = std::count_if(jobs_.begin(), jobs_.end(), [](const JobPointer& job) {
    return job->view.state == JobState::queued;
  });
  if (over_ || static_cast<std::size_t>(waiting) >= kMaxQueuedJobs) return std::nullopt;
  auto job = std::make_shared<Job>();
  job->view.id = ++last_id_;
  job->view.what = std::move(what);
  job->work = std::move(work);
  job->owner = owner;
  count_change(job->view);
  jobs_.push_back(std::move(job));
  forget_old();
  return last_id_;
}

std::optional<JobView> Jobs::find(std::int64_t id) { return wait(id, 0, {}); }

std::optional<JobView> Jobs::wait(std::int64_t id, std::uint64_t seen,
                                  std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const JobPointer job = find_job(id);
  if (!job) return std::nullopt;
  changed_.wait_for(lock, most, [&] { return over_ || job->view.change > seen; });
  return job->view;
}

std::vector<JobView> Jobs::wait_for_any(std::uint64_t seen, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return over_ || changes_ > seen; });
  std::vector<JobView> views;
  for (const JobPointer& job : jobs_) {
    if (job->view.change > seen) views.push_back(job->view);
  }
  return views;
}

std::optional<JobView> Jobs::cancel(std::int64_t id) {
  JobPointer job;
  {
    const std::scoped_lock lock(mutex_);
    job = find_job(id);
    if (!job) return std::nullopt;
    if (job->view.state == JobState::queued) {
      job->view.state = JobState::cancelled;
      count_change(job->view);
    }
  }
  job->stop.request_stop();  // without the lock, because this may wake the job, which needs it
  return find(id);
}

std::shared_ptr<void> Jobs::watch(std::optional<std::int64_t> id) {
  count_watcher(id, 1);
  return {nullptr, [this, id](void*) { count_watcher(id, -1); }};
}

void Jobs::count_watcher(std::optional<std::int64_t> id, int change) {
  const std::scoped_lock lock(mutex_);
  if (!id) watchers_of_all_ += change;
  for (const JobPointer& job : jobs_) {
    if (id && job->view.id != *id) continue;
    if (id) job->watchers += change;
    job->watched = Clock::now();
  }
}

bool Jobs::is_unwanted(const Job& job) const {
  return unwatched_.count() > 0 && job.owner == Owner::client && !job.view.is_over() &&
         !job.stop.stop_requested() && job.watchers == 0 && watchers_of_all_ == 0 &&
         Clock::now() - job.watched >= unwatched_;
}

void Jobs::cancel_unwanted() {
  const auto pause = std::min<std::chrono::milliseconds>(unwatched_, std::chrono::seconds(1)) / 4;
  const auto find_under_way = [&] {
    return std::find_if(jobs_.begin(), jobs_.end(),
                        [](const JobPointer& job) { return !job->view.is_over(); });
  };
  while (pause.count() > 0) {
    std::vector<std::int64_t> unwanted;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || find_under_way() != jobs_.end(); });
      changed_.wait_for(lock, pause, [&] { return over_; });
      if (over_) return;
      for (const JobPointer& job : jobs_) {
        if (is_unwanted(*job)) unwanted.push_back(job->view.id);
      }
    }
    for (const std::int64_t id : unwanted) cancel(id);
  }
}

std::vector<JobView> Jobs::under_way() {
  const std::scoped_lock lock(mutex_);
  std::vector<JobView> views;
  for (const JobPointer& job : jobs_) {
    if (!job->view.is_over()) views.push_back(job->view);
  }
  return views;
}

void Jobs::end() {
  std::deque<JobPointer> all;
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    all = jobs_;
    changed_.notify_all();
  }
  for (const JobPointer& job : all) job->stop.request_stop();
}

bool Jobs::is_over() {
  const std::scoped_lock lock(mutex_);
  return over_;
}

Jobs::JobPointer Jobs::find_job(std::int64_t id) const {
  for (const JobPointer& job : jobs_) {
    if (job->view.id == id) return job;
  }
  return nullptr;
}

void Jobs::run_all() {
  for (;;) {
    JobPointer next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        const auto first = std::find_if(jobs_.begin(), jobs_.end(), [](const JobPointer& job) {
          return job->view.state == JobState::queued;
        });
        next = first == jobs_.end() ? nullptr : *first;
        return over_ || next;
      });
      if (over_) return;
      next->view.state = JobState::running;
      count_change(next->view);
    }
    run(*next);
  }
}

void Jobs::run(Job& job) {
  const auto fail = [&](Record error) {
    change(job, [&](JobView& view) {
      view.state = JobState::failed;
      view.error = std::move(error);
    });
  };
  try {
    const std::int64_t revision = job.work(job.stop.get_token(), [&](const Progress& progress) {
      change(job, [&](JobView& view) { view.progress = progress; });
    });
    change(job, [&](JobView& view) {
      view.state = JobState::done;
      view.revision = revision;
    });
  } catch (const Stopped&) {
    change(job, [](JobView& view) { view.state = JobState::cancelled; });
  } catch (const Error& error) {
    fail(error_record(error));
  } catch (const std::bad_alloc&) {
    fail({{"kind", "io"}, {"message", "out of memory (try a smaller --memory)"}});
  } catch (const std::exception& error) {
    fail({{"kind", "internal"}, {"message", error.what()}});
  }
  job.work = nullptr;  // frees what the job holds
}

void Jobs::change(Job& job, const std::function<void(JobView&)>& how) {
  const std::scoped_lock lock(mutex_);
  how(job.view);
  count_change(job.view);
}

void Jobs::count_change(JobView& view) {
  view.change = ++changes_;
  changed_.notify_all();
}

void Jobs::forget_old() {
  auto ended = std::count_if(jobs_.begin(), jobs_.end(),
                             [](const JobPointer& job) { return job->view.is_over(); });
  std::erase_if(jobs_, [&](const JobPointer& job) {
    return job->view.is_over() && ended-- > static_cast<std::ptrdiff_t>(kMaxEndedJobs);
  });
}

}  // namespace attnscope
