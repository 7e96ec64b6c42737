#include "attnscope/engine/system_memory.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       8000000 kB\nMemFree:         100000 kB\nMemAvailable:   4000000 kB\n";
constexpr std::uint64_t kAvailable = 4'000'000ull * 1024;

TEST(AvailableMemory, EqualsTheAvailableMemoryOfTheSystem) {
  const TempFolder root;
  root.write("proc/meminfo", kMeminfo);
  EXPECT_EQ(available_memory(root.path()), kAvailable);
}

TEST(AvailableMemory, RespectsTheLimitOfAControlGroup) {
  const TempFolder root;
  root.write("proc/meminfo", kMeminfo);
  root.write("proc/self/cgroup", "0::/user/app\n");
  root.write("sys/fs/cgroup/user/app/memory.max", "max\n");
  root.write("sys/fs/cgroup/user/app/memory.current", "1000\n");
  EXPECT_EQ(available_memory(root.path()), kAvailable);
  // The limit of a parent group applies too, and cached file pages count as available.
  root.write("sys/fs/cgroup/user/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/user/memory.current", "600000\n");
  root.write("sys/fs/cgroup/user/memory.stat", "anon 400000\ninactive_file 200000\n");
  EXPECT_EQ(available_memory(root.path()), 600'000u);
  root.write("sys/fs/cgroup/user/app/memory.max", "500\n");
  EXPECT_EQ(available_memory(root.path()), 0u);
}

TEST(AvailableMemory, ReadsControlGroupsVersion1) {
  const TempFolder root;
  root.write("proc/meminfo", kMeminfo);
  root.write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/job\n3:cpuset:/\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(available_memory(root.path()), kAvailable);
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2000000\n");
  root.write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
  EXPECT_EQ(available_memory(root.path()), 1'000'100u);
}

TEST(AvailableMemory, IsAllMemoryIfTheFreeMemoryIsUnknown) {
  const TempFolder root;
  ASSERT_TRUE(available_memory(root.path()));
  EXPECT_GE(available_memory(root.path()), available_memory());
}

}  // namespace
}  // namespace attnscope::test
