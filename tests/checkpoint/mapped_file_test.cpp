#include "attnscope/checkpoint/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::uintmax_t page_size() { return static_cast<std::uintmax_t>(sysconf(_SC_PAGESIZE)); }

TEST(MappedFile, MapsTheBytesOfTheFile) {
  const test::TempFolder folder;
  const MappedFile file(folder.write("file", "abc"));
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(file.bytes()[1], std::byte{'b'});
  EXPECT_NO_THROW(file.check_intact());

  const MappedFile empty(folder.write("empty", ""));
  EXPECT_TRUE(empty.bytes().empty());
  EXPECT_NO_THROW(empty.check_intact());
}

TEST(MappedFile, PrefetchingChangesNothing) {
  const test::TempFolder folder;
  const fs::path path = folder.write("file", std::string(3 * page_size() + 5, 'x'));
  const MappedFile file(path);
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}, file.bytes().size()}) {
    file.prefetch(file.bytes().subspan(first));
  }
  fs::resize_file(path, 1);  // the prefetched range may no longer exist
  file.prefetch(file.bytes());
  EXPECT_EQ(file.bytes()[0], std::byte{'x'});

  const MappedFile empty(folder.write("empty", ""));
  empty.prefetch(empty.bytes());
}

TEST(MappedFile, RereadsReleasedPages) {
  const test::TempFolder folder;
  const std::string text(100'000, 'x');
  const MappedFile file(folder.write("file", text));
  for (const std::size_t first : {0, 1, 4096, 99'999}) {
    file.release(file.bytes().subspan(first));
    file.release(file.bytes().subspan(first, 1));
    EXPECT_EQ(file.bytes()[first], std::byte{'x'});
  }
  file.release({});
  EXPECT_EQ(std::ranges::count(file.bytes(), std::byte{'x'}), std::ssize(text));
}

TEST(MappedFile, MovesItsBytes) {
  const test::TempFolder folder;
  MappedFile file(folder.write("file", "abc"));
  const std::byte* bytes = file.bytes().data();
  const MappedFile moved(std::move(file));
  EXPECT_EQ(moved.bytes().data(), bytes);
  EXPECT_EQ(moved.path(), folder.path() / "file");
}

TEST(MappedFile, RejectsFilesThatAreNotRegular) {
  const test::TempFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const fs::path loop = folder.path() / "loop";
  fs::create_symlink(loop, loop);
  const struct {
    std::string_view fault;
    fs::path path;
    std::string_view said;
  } paths[] = {
      {"nothing there", folder.path() / "absent", "cannot open"},
      {"a folder", folder.path(), "is a directory, expected a file"},
      {"a pipe without a writer", pipe, "not a regular file"},
      {"a link to itself", loop, "cannot open"},
      {"name too long", folder.path() / std::string(300, 'x'), "cannot open"},
      {"below a file", folder.write("file", "abc") / "below", "cannot open"},
  };
  for (const auto& wrong : paths) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::io, MappedFile{wrong.path}, wrong.path.string(), wrong.said);
  }
}

TEST(MappedFile, DetectsThatTheFileWasWritten) {
  const test::TempFolder folder;
  const fs::path path = folder.write("file", "abc");
  const MappedFile file(path);
  // Sets a later time directly, because an actual write could fall on the same clock tick.
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_ERROR_SAYING(ErrorKind::io, file.check_intact(), path.string(), "was modified");
}

TEST(MappedFile, LimitsTheSizeOfTextFiles) {
  const test::TempFolder folder;
  const fs::path path = folder.write("config.json", "{}  ");
  EXPECT_EQ(read_text_file(path, 4), "{}  ");
  EXPECT_ERROR_SAYING(ErrorKind::format, read_text_file(path, 3), path.string(),
                      "larger than 3 bytes");
}

/// A checkpoint with one matrix of ones over several pages.
class TruncatedFile : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRows = 64, kCols = 1024;  // 256 KiB

  TruncatedFile() {
    install_bus_error_guard();
    test::TensorToWrite tensor = test::counting_tensor("w", {kRows, kCols});
    const std::vector<float> ones(static_cast<std::size_t>(kRows * kCols), 1.0f);
    tensor.bytes.assign(reinterpret_cast<const char*>(ones.data()), ones.size() * sizeof(float));
    content_ = test::safetensors_bytes({tensor});
    path_ = folder_.write("model.safetensors", content_);
  }

  static float sum(const Checkpoint& checkpoint) {
    const Matrix<float> matrix = decode<float>(whole_matrix(checkpoint.find("w")->view));
    return std::accumulate(matrix.data(), matrix.data() + kRows * kCols, 0.0f);
  }

  test::TempFolder folder_;
  std::string content_;
  fs::path path_;
};

TEST_F(TruncatedFile, IsAnErrorAndNotACrash) {
  const Checkpoint checkpoint = Checkpoint::open(path_);
  EXPECT_EQ(sum(checkpoint), kRows * kCols);
  EXPECT_NO_THROW(checkpoint.check_intact(*checkpoint.find("w")));

  fs::resize_file(path_, page_size());
  EXPECT_LT(sum(checkpoint), kRows * kCols);
  EXPECT_ERROR_SAYING(ErrorKind::io, checkpoint.check_intact(*checkpoint.find("w")), path_.string(),
                      "was truncated");
}

TEST_F(TruncatedFile, ToZeroBytesIsAnError) {
  const Checkpoint checkpoint = Checkpoint::open(path_);
  fs::resize_file(path_, 0);
  EXPECT_EQ(sum(checkpoint), 0);
  EXPECT_ERROR_SAYING(ErrorKind::io, checkpoint.check_intact(*checkpoint.find("w")),
                      path_.string());
}

// A writer that starts over truncates the file and fills it again, so the length is as before.
TEST_F(TruncatedFile, IsRememberedAfterTheFileGrows) {
  const Checkpoint checkpoint = Checkpoint::open(path_);
  fs::resize_file(path_, page_size());
  EXPECT_LT(sum(checkpoint), kRows * kCols);
  folder_.write("model.safetensors", content_);
  EXPECT_ERROR_SAYING(ErrorKind::io, checkpoint.check_intact(*checkpoint.find("w")),
                      path_.string());

  // The file itself is valid again.
  const Checkpoint again = Checkpoint::open(path_);
  EXPECT_EQ(sum(again), kRows * kCols);
  EXPECT_NO_THROW(again.check_intact(*again.find("w")));
}

TEST_F(TruncatedFile, IsDetectedFromSeveralThreads) {
  const Checkpoint checkpoint = Checkpoint::open(path_);
  std::atomic<int> first_reads = 0;
  std::atomic<int> errors = 0;
  const auto read_until_cut = [&] {
    for (bool first = true;; first = false) {
      const float total = sum(checkpoint);
      try {
        checkpoint.check_intact(*checkpoint.find("w"));
      } catch (const Error& error) {
        errors += error.kind() == ErrorKind::io ? 1 : 0;
        return;
      }
      // Values that check_intact() accepted were complete.
      EXPECT_EQ(total, kRows * kCols);
      if (first) ++first_reads;
    }
  };
  std::thread one(read_until_cut), other(read_until_cut);
  while (first_reads < 2) std::this_thread::yield();
  fs::resize_file(path_, page_size());
  one.join();
  other.join();
  EXPECT_EQ(errors, 2);
}

TEST_F(TruncatedFile, IsABadFileWhenOpenedLater) {
  fs::resize_file(path_, page_size());
  EXPECT_ERROR_SAYING(ErrorKind::format, Checkpoint::open(path_), path_.string(),
                      "truncated download?");
}

}  // namespace
}  // namespace attnscope
