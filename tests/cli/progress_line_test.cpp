#include "attnscope/cli/progress_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace attnscope::test {
namespace {

/// The log of a run of `seconds` that reports progress ten times per second.
std::string log_of(ProgressMode mode, double seconds, std::size_t items = 8) {
  std::FILE* file = std::tmpfile();
  {
    ProgressLine line("spectrum", mode, file);
    Progress progress{.items = {"matrix", "matrices"},
                      .items_done = std::min<std::size_t>(items, 3),
                      .items_total = items,
                      .bytes_done = 3'000'000,
                      .bytes_total = 8'000'000,
                      .flops_done = 6e10,
                      .flops_total = 16e10};
    for (int tenth = 1; tenth <= seconds * 10; ++tenth) {
      progress.seconds = tenth / 10.0;
      if (progress.seconds > 15) progress.seconds_left = 71.2;
      line.show(progress);
    }
  }
  std::string text;
  std::rewind(file);
  for (int next = std::fgetc(file); next != EOF; next = std::fgetc(file)) {
    text += static_cast<char>(next);
  }
  std::fclose(file);
  return text;
}

TEST(ProgressLine, WritesALogLineEveryTenSeconds) {
  EXPECT_EQ(log_of(ProgressMode::always, 9), "");
  EXPECT_EQ(log_of(ProgressMode::always, 29),
            "spectrum: 3 of 8 matrices, 3.0 of 8.0 MB, 0:10 so far\n"
            "spectrum: 3 of 8 matrices, 3.0 of 8.0 MB, 1:12 left, 3.0 GF/s, 0.1 MB/s, 0.1 "
            "matrices/s\n");
}

TEST(ProgressLine, UsesTheSingularForOneItem) {
  EXPECT_EQ(log_of(ProgressMode::always, 11, /*items=*/1),
            "spectrum: 1 of 1 matrix, 3.0 of 8.0 MB, 0:10 so far\n");
}

TEST(ProgressLine, IsInALogOnlyOnRequest) {
  EXPECT_EQ(log_of(ProgressMode::automatic, 29), "");
  EXPECT_EQ(log_of(ProgressMode::never, 29), "");
}

}  // namespace
}  // namespace attnscope::test
