// Bytes that are kept in memory up to a limit, then in a temporary file.
#include "attnscope/base/temporary_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

std::string random_bytes(std::mt19937_64& random, std::size_t count) {
  std::string bytes;
  for (std::size_t at = 0; at < count; ++at) bytes += static_cast<char>(random());
  return bytes;
}

TEST(Spool, ReadsBackWhatWasAppended) {
  for (const std::size_t memory_bytes : {0, 1, 100, 5000, 1 << 20}) {
    SCOPED_TRACE(memory_bytes);
    std::mt19937_64 random(memory_bytes);
    Spool spool(memory_bytes);
    std::string all;
    std::vector<std::pair<std::uint64_t, std::size_t>> pieces;
    for (int piece = 0; piece < 200; ++piece) {
      const std::string bytes = random_bytes(random, random() % 100);
      EXPECT_EQ(spool.append(bytes), all.size());
      pieces.emplace_back(all.size(), bytes.size());
      all += bytes;
      EXPECT_EQ(spool.size(), all.size());
      // Reads any earlier piece while more are appended.
      const auto& [offset, length] = pieces[random() % pieces.size()];
      ASSERT_EQ(spool.read(offset, length), all.substr(offset, length));
    }
    EXPECT_EQ(spool.read(0, all.size()), all);
    EXPECT_EQ(spool.read(all.size(), 0), "");
  }
}

TEST(Spool, CreatesAFileOnlyAboveTheMemoryLimit) {
  const ChangedVariable nowhere("TMPDIR", "/proc");
  Spool spool(10);
  spool.append("0123456789");
  EXPECT_EQ(spool.read(3, 4), "3456");
  EXPECT_ERROR_SAYING(ErrorKind::io, spool.append("x"), "/proc", "TMPDIR");
}

TEST(Spool, NamesAMissingFolder) {
  const TempFolder folder;
  const std::string missing = (folder.path() / "missing").string();
  const ChangedVariable nowhere("TMPDIR", missing);
  Spool spool(0);
  EXPECT_ERROR_SAYING(ErrorKind::io, spool.append("x"), missing, "TMPDIR");
}

TEST(Spool, LeavesNoNameInTheFolder) {
  const TempFolder folder;
  const ChangedVariable here("TMPDIR", folder.path().string());
  Spool spool(0);
  spool.append("something");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(spool.read(0, 9), "something");
}

}  // namespace
}  // namespace attnscope::test
