#include "attnscope/engine/progress.h"

#include <gtest/gtest.h>

namespace attnscope::test {
namespace {

TEST(Progress, EstimatesNoTimeLeftBeforeTheFirstItemFinishes) {
  ProgressMeter meter({.items_total = 2, .flops_total = 200}, /*threads=*/1);
  meter.start(0, 100, /*now=*/0);
  const Progress progress = meter.read(5);
  EXPECT_EQ(progress.seconds, 5);
  EXPECT_EQ(progress.flops_done, 0);
  EXPECT_FALSE(progress.seconds_left);
}

TEST(Progress, EstimatesTimeLeftFromFlopsNotItems) {
  // One large item of four took ten seconds. The other three together are a tenth of its FLOPs.
  ProgressMeter meter({.items_total = 4, .bytes_total = 40, .flops_total = 1100}, /*threads=*/1);
  meter.start(0, 1000, 0);
  meter.finish(0, 10, 10);
  const Progress progress = meter.read(10);
  EXPECT_EQ(progress.items_done, 1u);
  EXPECT_EQ(progress.bytes_done, 10u);
  EXPECT_EQ(progress.flops_done, 1000);
  EXPECT_DOUBLE_EQ(progress.seconds_left.value(), 1);
}

TEST(Progress, CountsRunningItemsByElapsedTime) {
  ProgressMeter meter({.items_total = 2, .flops_total = 200}, /*threads=*/1);
  meter.start(0, 100, 0);
  meter.finish(0, 0, 10);
  meter.start(1, 100, 10);
  EXPECT_DOUBLE_EQ(meter.read(14).flops_done, 140);
  EXPECT_DOUBLE_EQ(meter.read(14).seconds_left.value(), 6);
  // An item that takes longer than predicted never counts as finished.
  EXPECT_DOUBLE_EQ(meter.read(99).flops_done, 195);
  EXPECT_DOUBLE_EQ(meter.read(99).seconds_left.value(), 0.5);
}

TEST(Progress, ThreadsShareItemsButNotASingleItem) {
  ProgressMeter meter({.items_total = 5, .flops_total = 500}, /*threads=*/2);
  for (const std::size_t item : {0, 1}) meter.start(item, 100, 0);
  for (const std::size_t item : {0, 1}) meter.finish(item, 0, 10);
  EXPECT_DOUBLE_EQ(meter.read(10).seconds_left.value(), 15);  // 300 at 20 per second
  for (const std::size_t item : {2, 3}) meter.start(item, 100, 10);
  for (const std::size_t item : {2, 3}) meter.finish(item, 0, 20);
  meter.start(4, 100, 20);
  EXPECT_DOUBLE_EQ(meter.read(20).seconds_left.value(), 10);  // only one thread works on it
}

TEST(Progress, UsesTheRateOfTheLastItems) {
  ProgressMeter meter({.items_total = 201, .flops_total = 1201}, /*threads=*/1);
  meter.start(0, 1000, 0);
  meter.finish(0, 0, 1);
  double now = 1;
  for (std::size_t item = 1; item <= 200; ++item) {  // small ones, at a tenth of the rate
    meter.start(item, 1, now);
    meter.finish(item, 0, now += 0.01);
  }
  EXPECT_NEAR(meter.read(now).seconds_left.value(), 0.01, 1e-3);
}

}  // namespace
}  // namespace attnscope::test
