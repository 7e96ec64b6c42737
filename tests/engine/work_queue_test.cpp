#include "attnscope/engine/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace attnscope::test {
namespace {

using namespace std::chrono_literals;

/// Records what runs when. The items of a test share one recorder.
class Recorder {
 public:
  /// An item that takes a moment, so that others run at the same time.
  QueueItem item(double flops, std::uint64_t memory_bytes) {
    const std::size_t index = count_++;
    return {.flops = flops,
            .memory_bytes = memory_bytes,
            .run = [this, index, memory_bytes](const Compute&) {
              {
                const std::scoped_lock lock(mutex_);
                order_.push_back(index);
                buffered_bytes_ += memory_bytes;
                ++running_;
                most_bytes_ = std::max(most_bytes_, buffered_bytes_);
                most_running_ = std::max(most_running_, running_);
                if (running_ > 1)
                  most_bytes_together_ = std::max(most_bytes_together_, buffered_bytes_);
              }
              std::this_thread::sleep_for(2ms);
              const std::scoped_lock lock(mutex_);
              buffered_bytes_ -= memory_bytes;
              --running_;
            }};
  }

  const std::vector<std::size_t>& order() const { return order_; }
  std::uint64_t most_bytes() const { return most_bytes_; }
  std::uint64_t most_bytes_together() const { return most_bytes_together_; }
  int most_running() const { return most_running_; }

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::vector<std::size_t> order_;
  std::uint64_t buffered_bytes_ = 0, most_bytes_ = 0, most_bytes_together_ = 0;
  int running_ = 0, most_running_ = 0;
};

TEST(WorkQueue, RunsTheLargestFirst) {
  Recorder recorder;
  std::vector<QueueItem> items;
  for (const double flops : {1, 5, 3, 5}) items.push_back(recorder.item(flops, 0));
  run_queue(items, {.threads = 1});
  EXPECT_EQ(recorder.order(), (std::vector<std::size_t>{1, 3, 2, 0}));
}

TEST(WorkQueue, RunsEveryItemOnceForAnyResources) {
  for (const int threads : {-1, 0, 1, 2, 3, 8, 100}) {
    for (const std::uint64_t memory_bytes : {0, 1, 50, 100, 1'000'000}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory_bytes) +
                   " bytes");
      Recorder recorder;
      std::vector<QueueItem> items;
      for (int index = 0; index < 12; ++index) {
        items.push_back(recorder.item(index % 5, static_cast<std::uint64_t>(index % 4 + 1) * 20));
      }
      run_queue(items, {.threads = threads, .memory_bytes = memory_bytes});
      std::vector<std::size_t> ran = recorder.order();
      std::sort(ran.begin(), ran.end());
      ASSERT_EQ(ran.size(), items.size());
      for (std::size_t index = 0; index < ran.size(); ++index) EXPECT_EQ(ran[index], index);
      EXPECT_LE(recorder.most_running(), std::max(threads, 1));
      EXPECT_LE(recorder.most_bytes_together(), memory_bytes);
    }
  }
}

TEST(WorkQueue, FinishesWithoutItems) {
  run_queue({}, {.threads = 4, .on_progress = [](const Progress&) { FAIL(); }});
}

TEST(WorkQueue, AnItemLargerThanAllMemoryRunsAlone) {
  Recorder recorder;
  std::vector<QueueItem> items;
  for (const double flops : {9, 8, 2, 1})
    items.push_back(recorder.item(flops, flops > 5 ? 70 : 20));
  run_queue(items, {.threads = 4, .memory_bytes = 50});
  EXPECT_EQ(recorder.order().size(), items.size());
  EXPECT_EQ(recorder.most_bytes(), 70u);
  EXPECT_EQ(recorder.most_bytes_together(), 40u);
}

TEST(WorkQueue, ASmallerItemPassesALargerOneThatDoesNotFit) {
  // The first item waits for the third, and would wait forever if the second blocked the third.
  std::latch third_ran(1);
  std::vector<QueueItem> items(3);
  items[0] = {.flops = 3, .memory_bytes = 60, .run = [&](const Compute&) { third_ran.wait(); }};
  items[1] = {.flops = 2, .memory_bytes = 60, .run = [&](const Compute&) {
                EXPECT_TRUE(third_ran.try_wait());
              }};
  items[2] = {
      .flops = 1, .memory_bytes = 40, .run = [&](const Compute&) { third_ran.count_down(); }};
  run_queue(items, {.threads = 2, .memory_bytes = 100});
}

TEST(WorkQueue, AnExceptionEndsTheRun) {
  for (const int threads : {1, 3}) {
    std::atomic<int> ran = 0;
    std::vector<QueueItem> items(50);
    for (QueueItem& item : items) item.run = [&](const Compute&) { ++ran; };
    items[0] = {.flops = 9, .run = [](const Compute&) { throw std::runtime_error("the largest"); }};
    for (std::size_t index = 1; index < items.size(); ++index) {
      items[index].run = [&](const Compute&) {
        std::this_thread::sleep_for(1ms);
        ++ran;
      };
    }
    try {
      run_queue(items, {.threads = threads});
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the largest");
    }
    EXPECT_LT(ran, 49) << threads << " threads";
  }
}

/// An item that runs until it is stopped, and gives up after ten seconds or more.
QueueItem patient_item(std::atomic<int>& under_way) {
  return {.run = [&](const Compute& compute) {
    ++under_way;
    for (int step = 0; step < 10'000; ++step) {
      compute.check_stop();
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "was not stopped";
  }};
}

TEST(WorkQueue, AnExceptionStopsRunningItems) {
  std::atomic<int> under_way = 0;
  std::vector<QueueItem> items = {patient_item(under_way)};
  items.push_back({.run = [&](const Compute&) {
    while (under_way == 0) std::this_thread::sleep_for(1ms);
    throw std::runtime_error("of the second");
  }});
  EXPECT_THROW(run_queue(items, {.threads = 2}), std::runtime_error);
}

TEST(WorkQueue, AStopEndsTheRun) {
  for (const int threads : {1, 2}) {
    std::atomic<int> under_way = 0;
    std::vector<QueueItem> items(5, patient_item(under_way));
    std::stop_source stop;
    std::jthread asker([&] {
      while (under_way == 0) std::this_thread::sleep_for(1ms);
      stop.request_stop();
    });
    std::atomic<int> ended = 0;
    EXPECT_THROW(run_queue(items, {.threads = threads, .stop = stop.get_token()},
                           [&](std::size_t) { ++ended; }),
                 Stopped);
    EXPECT_LE(under_way, threads);
    EXPECT_EQ(ended, 0);
  }
}

TEST(WorkQueue, AnExceptionOfTheProgressCallbackEndsTheRun) {
  std::atomic<int> under_way = 0;
  std::vector<QueueItem> items(3, patient_item(under_way));
  const auto give_up = [&](const Progress&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(run_queue(items, {.threads = 2, .on_progress = give_up}), std::runtime_error);
  EXPECT_LE(under_way, 2);
}

TEST(WorkQueue, ReportsEachItemOnTheCallersThread) {
  std::vector<QueueItem> items(20);
  for (QueueItem& item : items) item.run = [](const Compute&) {};
  const auto caller = std::this_thread::get_id();
  std::vector<std::size_t> told;
  run_queue(items, {.threads = 3}, [&](std::size_t index) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    told.push_back(index);
  });
  std::sort(told.begin(), told.end());
  ASSERT_EQ(told.size(), items.size());
  for (std::size_t index = 0; index < told.size(); ++index) EXPECT_EQ(told[index], index);
}

TEST(WorkQueue, PrefetchesTheNextItem) {
  std::latch second_prefetched(1);
  std::vector<QueueItem> items(3);
  // Only the second is prefetched while the first runs: with one worker, the queue looks one item
  // ahead.
  items[0] = {.flops = 3, .bytes = 10, .run = [&](const Compute&) { second_prefetched.wait(); }};
  items[1] = {.flops = 2,
              .bytes = 10,
              .run = [](const Compute&) {},
              .prefetch = [&] { second_prefetched.count_down(); }};
  items[2] = {.flops = 1, .bytes = 10, .run = [](const Compute&) {}};
  run_queue(items, {.threads = 1});
}

TEST(WorkQueue, PrefetchesOnlyWhatFits) {
  std::atomic<bool> running = false;
  std::vector<QueueItem> items(2);
  items[0] = {.flops = 2, .bytes = 40, .memory_bytes = 80, .run = [&](const Compute&) {
                running = true;
                std::this_thread::sleep_for(20ms);
                running = false;
              }};
  items[1] = {
      .flops = 1,
      .bytes = 40,
      .memory_bytes = 80,
      .run = [](const Compute&) {},
      .prefetch = [&] { EXPECT_FALSE(running) << "80 in work and 40 ahead are more than 100"; }};
  run_queue(items, {.threads = 1, .memory_bytes = 100});
}

TEST(WorkQueue, ReportsWhileAnItemRuns) {
  std::latch reported(3);
  std::vector<QueueItem> items = {
      {.flops = 5, .bytes = 7, .run = [&](const Compute&) { reported.wait(); }}};
  const auto caller = std::this_thread::get_id();
  double last_seconds = 0;
  std::size_t items_done = 0;
  const auto on_progress = [&](const Progress& progress) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    items_done = progress.items_done;
    EXPECT_EQ(progress.items_total, 1u);
    EXPECT_EQ(progress.bytes_total, 7u);
    EXPECT_EQ(progress.flops_total, 5.0);
    EXPECT_GT(progress.seconds, last_seconds);
    last_seconds = progress.seconds;
    if (items_done > 0) return;
    EXPECT_FALSE(progress.seconds_left);
    if (!reported.try_wait()) reported.count_down();
  };
  run_queue(items, {.threads = 2, .on_progress = on_progress});
  EXPECT_TRUE(reported.try_wait());
  EXPECT_EQ(items_done, 1u);  // and a last report when all is done
}

}  // namespace
}  // namespace attnscope::test
