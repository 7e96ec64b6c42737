#include "attnscope/checkpoint/bus_error_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Two pages of a file that can be truncated. Each mapping is a separate address range.
class CutPages {
 public:
  CutPages()
      : path_(folder_.write("file", std::string(2 * page_bytes(), 'x'))),
        descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~CutPages() { close(descriptor_); }
  CutPages(const CutPages&) = delete;
  CutPages& operator=(const CutPages&) = delete;

  std::span<const std::byte> map() const {
    void* address = mmap(nullptr, 2 * page_bytes(), PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (address == MAP_FAILED) abort();
    return {static_cast<const std::byte*>(address), 2 * page_bytes()};
  }
  void cut() const { fs::resize_file(path_, page_bytes()); }

 private:
  test::TempFolder folder_;
  fs::path path_;
  int descriptor_;
};

void unmap(std::span<const std::byte> bytes) {
  munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

int last_byte(std::span<const std::byte> bytes) {
  return static_cast<int>(*const_cast<const volatile std::byte*>(&bytes.back()));
}

TEST(BusErrorGuard, WatchesAnyNumberOfRanges) {
  install_bus_error_guard();
  const CutPages file;
  std::vector<std::span<const std::byte>> maps;
  std::vector<GuardedRange> ranges;
  for (int count = 0; count < 6000; ++count) {
    maps.push_back(file.map());
    ranges.emplace_back(maps.back());
  }
  EXPECT_EQ(last_byte(maps.front()), 'x');
  file.cut();
  for (std::size_t index = 0; index < maps.size(); ++index) {
    ASSERT_EQ(last_byte(maps[index]), 0) << index;
    ASSERT_TRUE(ranges[index].was_cut()) << index;
  }
  ranges.clear();
  for (const auto& map : maps) unmap(map);
}

TEST(BusErrorGuard, MovesItsStateAndResetsOnAssignment) {
  install_bus_error_guard();
  EXPECT_FALSE(GuardedRange().was_cut());
  const CutPages file;
  const auto bytes = file.map();
  GuardedRange first(bytes);
  file.cut();
  EXPECT_EQ(last_byte(bytes), 0);
  GuardedRange second(std::move(first));
  EXPECT_TRUE(second.was_cut());
  EXPECT_FALSE(first.was_cut());
  second = GuardedRange(bytes);
  EXPECT_FALSE(second.was_cut());  // the earlier read belongs to another range
  unmap(bytes);
}

TEST(BusErrorGuard, IsThreadSafe) {
  install_bus_error_guard();
  std::atomic<int> wrong = 0;
  const auto open_cut_and_close = [&](bool cuts) {
    for (int round = 0; round < 200; ++round) {
      const CutPages file;
      const auto bytes = file.map();
      {
        const GuardedRange range(bytes);
        if (cuts) file.cut();
        wrong += last_byte(bytes) != (cuts ? 0 : 'x');
        wrong += range.was_cut() != cuts;
      }
      unmap(bytes);
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) threads.emplace_back(open_cut_and_close, number % 2);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Each test runs in its own process, which installs the guard for the first time.
class BusErrorGuardDeathTest : public testing::Test {
 protected:
  BusErrorGuardDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  [[noreturn]] static void read_past_the_end() {
    const CutPages file;
    const auto bytes = file.map();
    file.cut();
    _exit(last_byte(bytes) == 0 ? 0 : 1);
  }
};

TEST_F(BusErrorGuardDeathTest, PassesOtherSignalsToTheEarlierHandler) {
  const auto with_handler = [] {
    struct sigaction own = {};
    own.sa_flags = SA_SIGINFO;
    own.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr ? 42 : 43); };
    sigaction(SIGBUS, &own, nullptr);
    install_bus_error_guard();
    read_past_the_end();
  };
  EXPECT_EXIT(with_handler(), testing::ExitedWithCode(42), "");

  const auto with_plain_handler = [] {
    std::signal(SIGBUS, [](int signal) { _exit(signal == SIGBUS ? 44 : 45); });
    install_bus_error_guard();
    read_past_the_end();
  };
  EXPECT_EXIT(with_plain_handler(), testing::ExitedWithCode(44), "");
}

TEST_F(BusErrorGuardDeathTest, EndsTheProcessWithoutAnEarlierHandler) {
  const auto with_default = [] {
    std::signal(SIGBUS, SIG_DFL);
    install_bus_error_guard();
    read_past_the_end();
  };
  EXPECT_EXIT(with_default(), testing::KilledBySignal(SIGBUS), "");

  const auto when_ignored = [] {
    std::signal(SIGBUS, SIG_IGN);
    install_bus_error_guard();
    raise(SIGBUS);  // sent, not caused by a memory access: ignored as before
    read_past_the_end();
  };
  EXPECT_EXIT(when_ignored(), testing::KilledBySignal(SIGBUS), "");

  const auto when_sent = [] {
    std::signal(SIGBUS, SIG_DFL);
    install_bus_error_guard();
    raise(SIGBUS);
    _exit(0);
  };
  EXPECT_EXIT(when_sent(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace attnscope
