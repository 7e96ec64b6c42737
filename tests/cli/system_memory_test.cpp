// Error message when the system refuses to allocate more memory.
#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kReservesAddresses = true;  // sanitizers reserve terabytes of addresses
#elif defined(__has_feature)
constexpr bool kReservesAddresses = __has_feature(address_sanitizer);
#else
constexpr bool kReservesAddresses = false;
#endif

// The tokenizer's alignments of 12 MB of text take a hundred times as much memory.
TEST(SystemMemory, FailedAllocationInRustIsOneLine) {
  const Words command = {ATTNSCOPE_COMMAND};
  if (kReservesAddresses || command.size() > 1) GTEST_SKIP() << "not its own addresses";
  const TempFolder folder;
  std::string text;
  for (int line = 0; line < 600'000; ++line) text += "To be, or not to be ";
  const std::string file = folder.write("long.txt", text).string(),
                    said = (folder.path() / "said.txt").string();
  for (const char* kilobytes : {"400000", "700000"}) {
    SCOPED_TRACE(kilobytes);
    const std::string shell = "ulimit -v " + std::string(kilobytes) + " && exec '" + command[0] +
                              "' predict '" + source_path("examples/shakespeare-gpt2") +
                              "' --quiet --threads 1 --memory 16G" + " --text-file '" + file +
                              "' >/dev/null 2>'" + said + "'";
    const int status = std::system(shell.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 3);
    const std::string error = read_file(said);
    EXPECT_TRUE(error.starts_with("attnscope: error: memory: out of memory")) << error;
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
  }
}

}  // namespace
}  // namespace attnscope::test
