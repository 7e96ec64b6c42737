#include "attnscope/inputs/text/token_windows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using Starts = std::vector<std::int64_t>;

TEST(TokenWindows, AreConsecutiveFromTheStart) {
  EXPECT_EQ(window_starts(10, {.sequences = 3, .length = 3}, "text"), (Starts{0, 3, 6}));
  EXPECT_EQ(window_starts(9, {.sequences = 3, .length = 3}, "text"), (Starts{0, 3, 6}));
  EXPECT_EQ(window_starts(9, {.sequences = 1, .length = 9}, "text"), (Starts{0}));
}

TEST(TokenWindows, RandomWindowsFollowTheDocumentedGenerator) {
  // Printed by the Python code in the header.
  EXPECT_EQ(window_starts(1000, {.sequences = 6, .length = 100, .sample = 0}, "text"),
            (Starts{795, 388, 23, 874, 95, 294}));
  EXPECT_EQ(window_starts(12, {.sequences = 10, .length = 3, .sample = 7}, "text"),
            (Starts{3, 0, 9, 5, 4, 2, 1, 8, 6, 7}));
  EXPECT_EQ(window_starts(1'000'000, {.sequences = 4, .length = 128, .sample = UINT64_MAX}, "text"),
            (Starts{893829, 912481, 219454, 426180}));
}

TEST(TokenWindows, ReportHowManyThereAre) {
  const struct {
    std::int64_t tokens;
    WindowRequest request;
    std::string_view said;
  } refusals[] = {
      {8,
       {.sequences = 3, .length = 3},
       "f: has 8 tokens, enough for 2 sequences of 3, not for the 3 required by sequences"},
      {5, {.sequences = 3, .length = 3}, "has 5 tokens, enough for 1 sequence of 3, not for the 3"},
      {5, {.sequences = 4, .length = 3, .sample = 1}, "enough for 3 sequences of 3, not for the 4"},
      {2,
       {.sequences = 1, .length = 3},
       "has 2 tokens, fewer than the 3 required for one sequence (provide more text, or set length "
       "2)"},
      {1, {.sequences = 1, .length = 3, .sample = 1}, "has 1 token, fewer than the 3"},
      {0,
       {.sequences = 1, .length = 3},
       "has 0 tokens, fewer than the 3 required for one sequence (provide more"},
  };
  for (const auto& refusal : refusals) {
    EXPECT_ERROR_SAYING(ErrorKind::usage, window_starts(refusal.tokens, refusal.request, "f"),
                        refusal.said);
  }
}

TEST(TokenWindows, UseAllWindowsIfThereAreFewer) {
  WindowRequest request{.sequences = 5, .length = 10, .or_fewer = true};
  EXPECT_EQ(window_starts(39, request, "text"), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(std::ssize(window_starts(60, request, "text")), 5);
  request.sample = 7;
  EXPECT_EQ(std::ssize(window_starts(12, request, "text")), 3);
  EXPECT_THROW(window_starts(9, request, "text"), Error);
}

TEST(TokenWindows, AreCutFromIds) {
  std::vector<std::int64_t> ids(7);
  std::iota(ids.begin(), ids.end(), 100);
  EXPECT_EQ(cut_windows(ids, {.sequences = 2, .length = 3}, "text"),
            (std::vector<TokenIds>{{100, 101, 102}, {103, 104, 105}}));
}

TEST(TokenIds, RejectsIdsOutsideTheVocabulary) {
  EXPECT_NO_THROW(check_token_ids(std::vector<std::int64_t>{0, 9}, 10, "tokens"));
  EXPECT_ERROR_SAYING(ErrorKind::format, check_token_ids(std::vector<std::int64_t>{0, 10}, 10, "t"),
                      "t: the token id 10 at position 1 is not in the model's vocabulary",
                      "ends at 9");
  EXPECT_ERROR_SAYING(ErrorKind::format, check_token_ids(std::vector<std::int64_t>{-1}, 10, "t"),
                      "the token id -1 at position 0");
}

}  // namespace
}  // namespace attnscope
