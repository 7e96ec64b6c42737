#include "attnscope/serve/jobs.h"

#include <gtest/gtest.h>

#include <latch>

#include "attnscope/base/error.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kRevision = 7;

/// Runs until it is cancelled.
std::int64_t run_on(std::stop_token stop, const ProgressFn&) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
  throw Stopped();
}

JobView ended(Jobs& jobs, std::int64_t id) {
  JobView job = *jobs.find(id);
  while (!job.is_over()) job = *jobs.wait(id, job.change, 1s);
  return job;
}

TEST(Jobs, RunOneAfterTheOther) {
  Jobs jobs;
  std::vector<int> order;
  const auto work = [&](int name) {
    return [&order, name](std::stop_token, const ProgressFn& progress) {
      progress({.items_done = 1, .items_total = 2});
      order.push_back(name);
      return kRevision;
    };
  };
  const auto first = jobs.add("a", work(1)), second = jobs.add("b", work(2));
  const JobView job = ended(jobs, *second);
  EXPECT_EQ(job.state, JobState::done);
  EXPECT_EQ(job.what, "b");
  EXPECT_EQ(job.revision, kRevision);
  EXPECT_EQ(job.progress->items_total, 2u);
  EXPECT_EQ(ended(jobs, *first).state, JobState::done);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_FALSE(jobs.find(*second + 1));
}

TEST(Jobs, ReportChangesOfAnyJob) {
  Jobs jobs;
  EXPECT_TRUE(jobs.wait_for_any(0, 0s).empty());
  const auto first = jobs.add("a", [](auto, auto&) { return kRevision; });
  ended(jobs, *first);
  const std::uint64_t seen = jobs.wait_for_any(0, 1s).at(0).change;
  EXPECT_TRUE(jobs.wait_for_any(seen, 1ms).empty());
  const auto second = jobs.add("b", run_on);
  const std::vector<JobView> changed = jobs.wait_for_any(seen, 10s);
  ASSERT_EQ(changed.size(), 1u) << "nothing happened to the first";
  EXPECT_EQ(changed[0].id, *second);
  EXPECT_GT(changed[0].change, seen);
  jobs.cancel(*second);
}

TEST(Jobs, ReportErrors) {
  Jobs jobs;
  const auto id = jobs.add("a", [](std::stop_token, const ProgressFn&) -> std::int64_t {
    throw Error(ErrorKind::usage, {.parameter = "text", .problem = "is bad", .hint = "fix it"});
  });
  const JobView job = ended(jobs, *id);
  EXPECT_EQ(job.state, JobState::failed);
  EXPECT_EQ(expect<std::string>(*job.error, "kind"), "usage");
  EXPECT_EQ(expect<std::string>(*job.error, "parameter"), "text");
  EXPECT_EQ(expect<std::string>(*job.error, "message"), "text: is bad (fix it)");
  EXPECT_FALSE(job.revision);
}

TEST(Jobs, CanBeCancelledWhileRunningOrQueued) {
  Jobs jobs;
  const auto running = jobs.add("a", run_on), waiting = jobs.add("b", run_on);
  EXPECT_EQ(jobs.under_way().size(), 2u);
  EXPECT_EQ(jobs.cancel(*waiting)->state, JobState::cancelled);
  EXPECT_EQ(jobs.under_way().size(), 1u);
  jobs.cancel(*running);
  EXPECT_EQ(ended(jobs, *running).state, JobState::cancelled);
  EXPECT_FALSE(jobs.cancel(99));
}

TEST(Jobs, LimitTheQueueAndForgetOldJobs) {
  Jobs jobs;
  std::latch begun(1);
  const auto first = jobs.add("a", [&](std::stop_token stop, const ProgressFn& progress) {
    begun.count_down();
    return run_on(std::move(stop), progress);
  });
  begun.wait();
  std::vector<std::int64_t> waiting;
  for (std::size_t count = 0; count < kMaxQueuedJobs; ++count) {
    waiting.push_back(*jobs.add("b", run_on));
  }
  EXPECT_FALSE(jobs.add("c", run_on));
  for (const std::int64_t id : waiting) jobs.cancel(id);
  EXPECT_TRUE(jobs.find(*first));
  const auto nothing = [](std::stop_token, const ProgressFn&) { return kRevision; };
  jobs.cancel(*first);
  for (std::size_t count = 0; count < kMaxEndedJobs + 5; ++count) {
    ended(jobs, *jobs.add("d", nothing));
  }
  EXPECT_FALSE(jobs.find(*first));
}

TEST(Jobs, AreCancelledWhenNobodyWatches) {
  Jobs jobs(50ms);
  const auto running = jobs.add("a", run_on), waiting = jobs.add("b", run_on);
  EXPECT_EQ(ended(jobs, *running).state, JobState::cancelled);
  EXPECT_EQ(ended(jobs, *waiting).state, JobState::cancelled);
}

TEST(Jobs, ContinueAsLongAsOneClientWatches) {
  for (const bool all : {false, true}) {
    Jobs jobs(50ms);
    auto watch_all = all ? jobs.watch() : nullptr;
    const auto id = jobs.add("a", run_on);
    auto first = jobs.watch(id), second = all ? std::move(watch_all) : jobs.watch(id);
    first = nullptr;
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(jobs.find(*id)->state, JobState::running);
    second = nullptr;
    EXPECT_EQ(ended(jobs, *id).state, JobState::cancelled);
  }
}

TEST(Jobs, OfTheServerOrWithoutATimeoutNeedNoWatcher) {
  for (const bool by_server : {false, true}) {
    Jobs jobs(by_server ? 20ms : 0ms);
    const auto id = jobs.add("a", run_on, by_server ? Jobs::Owner::server : Jobs::Owner::client);
    std::this_thread::sleep_for(200ms);
    EXPECT_FALSE(jobs.find(*id)->is_over());
  }
}

TEST(Jobs, EndAtOnceWithTheirServer) {
  Jobs jobs;
  const auto id = jobs.add("a", run_on);
  std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    jobs.end();
  });
  // Waiting threads are woken. Otherwise this test would exceed its time limit.
  JobView job = *jobs.find(*id);
  while (!jobs.is_over()) job = *jobs.wait(*id, job.change, 1h);
  EXPECT_FALSE(jobs.add("b", run_on));
}

}  // namespace
}  // namespace attnscope
