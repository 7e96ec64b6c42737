#include "attnscope/cli/output_target.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

void write_to(ReplacedFile& file, std::string_view text) {
  ASSERT_EQ(write_all(file.descriptor(), text.data(), text.size()), 0);
}

class Replaced : public testing::TestWithParam<bool> {
 protected:
  fs::path path() const { return folder_.path() / "rows"; }
  TempFolder folder_;
};

TEST_P(Replaced, AppearsOnlyWhenComplete) {
  folder_.write("rows", "before");
  {
    ReplacedFile file(path(), GetParam());
    write_to(file, "half");
    EXPECT_EQ(read_file(path()), "before");
  }
  EXPECT_EQ(files_in(folder_.path()), Words{"rows"});
  ReplacedFile file(path(), GetParam());
  write_to(file, "whole");
  file.replace();
  EXPECT_EQ(read_file(path()), "whole");
  EXPECT_EQ(files_in(folder_.path()), Words{"rows"});
}

TEST_P(Replaced, HasThePermissionsOfTheUmask) {
  const mode_t before = umask(027);
  {
    ReplacedFile file(path(), GetParam());
    file.replace();
  }
  umask(before);
  struct stat status = {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_P(Replaced, TwoRunsCanWriteTheSameName) {
  ReplacedFile first(path(), GetParam()), second(path(), GetParam());
  write_to(first, "first");
  write_to(second, "second");
  first.replace();
  EXPECT_EQ(read_file(path()), "first");
  second.replace();
  EXPECT_EQ(read_file(path()), "second");
  EXPECT_EQ(files_in(folder_.path()), Words{"rows"});
}

TEST_P(Replaced, RemovesFilesThatAKilledRunLeft) {
  folder_.write(".rows.attnscope-tmp", "left, and longer than what is written next");
  ReplacedFile file(path(), GetParam());
  write_to(file, "whole");
  file.replace();
  EXPECT_EQ(read_file(path()), "whole");
  EXPECT_EQ(files_in(folder_.path()), Words{"rows"});
}

TEST_P(Replaced, AcceptsTheLongestFileName) {
  const fs::path longest = folder_.path() / std::string(255, 'x');
  ReplacedFile file(longest, GetParam());
  file.replace();
  EXPECT_TRUE(fs::exists(longest));
}

INSTANTIATE_TEST_SUITE_P(File, Replaced, testing::Bool(),
                         [](const auto& unnamed) { return unnamed.param ? "Unnamed" : "Hidden"; });

/// Mounts an empty folder over /proc for this process only. False if that is not allowed.
bool hide_proc() {
#ifdef __linux__
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
#else
  return false;
#endif
}

// A chroot often has no /proc, which is the usual way to name an unnamed file.
TEST(ReplacedFile, WorksWithoutProc) {
  enum Answer { kReplaced, kFailed, kNotAllowed };
  const TempFolder folder;
  const fs::path path = folder.path() / "rows";
  const pid_t child = fork();
  if (child == 0) {
    if (!hide_proc()) _exit(kNotAllowed);
    try {
      ReplacedFile file(path);
      if (write_all(file.descriptor(), "whole", 5) != 0) _exit(kFailed);
      file.replace();
    } catch (const std::exception&) {
      _exit(kFailed);
    }
    _exit(kReplaced);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "/proc cannot be hidden here";
  EXPECT_EQ(WEXITSTATUS(status), kReplaced);
  EXPECT_EQ(read_file(path), "whole");
  EXPECT_EQ(files_in(folder.path()), Words{"rows"});
}

/// Writes `megabytes` to the target in a separate process. Returns its peak memory in MB.
long memory_to_write(const std::string& path, int megabytes) {
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    struct rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    OutputTarget target(path);
    const std::string line(1023, 'x');
    for (int count = 0; count < megabytes * 1024; ++count) target.stream() << line << '\n';
    target.commit();
    getrusage(RUSAGE_SELF, &after);
    _exit(static_cast<int>(std::min(255L, (after.ru_maxrss - before.ru_maxrss) / 1024)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(OutputTarget, LongOutputNeedsLittleMemory) {
  const TempFolder folder;
  const std::string out = (folder.path() / "rows").string();
  EXPECT_LT(memory_to_write("", 200), 50);
  EXPECT_LT(memory_to_write(out, 200), 50);
  EXPECT_EQ(fs::file_size(out), 200u << 20);
}

TEST(OutputTarget, CopiesLongOutputCompletely) {
  const TempFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  std::string written;
  const pid_t child = fork();
  if (child == 0) {
    OutputTarget target(pipe.string());
    for (int line = 0; line < 2'000'000; ++line) target.stream() << line << '\n';
    target.commit();
    _exit(0);
  }
  fcntl(reader, F_SETFL, 0);
  std::string read_bytes, expected;
  std::vector<char> buffer(1 << 16);
  int status = 0;
  while (read_bytes.empty() && waitpid(child, &status, WNOHANG) == 0) {
    const ssize_t count = read(reader, buffer.data(), buffer.size());
    if (count > 0) read_bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  for (ssize_t count = 1; count > 0;) {
    count = read(reader, buffer.data(), buffer.size());
    if (count > 0) read_bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  waitpid(child, &status, 0);
  close(reader);
  for (int line = 0; line < 2'000'000; ++line) expected += std::to_string(line) + "\n";
  EXPECT_TRUE(read_bytes == expected) << read_bytes.size() << " of " << expected.size() << " bytes";
}

TEST(OutputTarget, NamesTheTemporaryFolder) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere", 1);
  EXPECT_ERROR_SAYING(
      ErrorKind::io,
      {
        OutputTarget target("/dev/null");
        target.stream() << std::string(20 << 20, 'x') << std::flush;
        target.commit();
      },
      "/nowhere", "TMPDIR");
  if (before == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace attnscope::test
