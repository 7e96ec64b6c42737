// The selection of experts for a run.
#include "attnscope/features/common/expert_selection.h"

#include <gtest/gtest.h>

#include <numeric>

namespace attnscope {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(ExpertSelection, SamplesEveryNth) {
  EXPECT_EQ(ExpertSelection{}.resolve(128, "m"), (Numbers{0, 16, 32, 48, 64, 80, 96, 112}));
  EXPECT_EQ(ExpertSelection{}.resolve(9, "m"), (Numbers{0, 2, 4, 6, 8}));
  EXPECT_EQ(ExpertSelection{}.resolve(3, "m"), (Numbers{0, 1, 2}));
}

TEST(ExpertSelection, IncludesANamedExpertOnce) {
  EXPECT_EQ(ExpertSelection{"5,0-2,1"}.resolve(8, "m"), (Numbers{0, 1, 2, 5}));
  Numbers all(20);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ExpertSelection{"all"}.resolve(20, "m"), all);
}

/// An item of three experts: the value of each is its index times ten, and the second is skipped.
TEST(ExpertSelection, SummarizesMeasuredExperts) {
  WorkItem item;
  item.experts = {1, 4, 6, 7, 9};
  const std::vector<Outcome> outcomes = expert_outcomes(item, [](std::int64_t expert) {
    if (expert == 4) return Outcome{.skipped = "is empty"};
    Outcome outcome;
    outcome.fields = {{"count", expert * 10},
                      {"values", std::vector<double>{static_cast<double>(expert), 1}},
                      {"by", Record{{"0.9", static_cast<double>(expert)}}}};
    return outcome;
  });
  ASSERT_EQ(outcomes.size(), 6u);
  const Record& sum = outcomes[0].fields;
  EXPECT_EQ(expect<std::int64_t>(sum, "experts"), 4);
  EXPECT_EQ(expect<std::int64_t>(sum, "count"), 60);  // lower median of 10, 60, 70, 90
  EXPECT_EQ(expect_vector<double>(sum, "values"), (std::vector<double>{6, 1}));
  EXPECT_EQ(expect<double>(expect<Record>(sum, "by"), "0.9"), 6);
  EXPECT_EQ(expect<std::int64_t>(outcomes[1].fields, "expert"), 1);
  EXPECT_EQ(outcomes[2].skipped, "expert 4: is empty");
  EXPECT_EQ(expect<std::int64_t>(outcomes[5].fields, "expert"), 9);
}

}  // namespace
}  // namespace attnscope
