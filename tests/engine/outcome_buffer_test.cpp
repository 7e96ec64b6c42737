// Buffered outcomes are returned unchanged, whether they were in memory or in a file.
#include "attnscope/engine/outcome_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "attnscope/rows/lossless_json.h"

namespace attnscope::test {
namespace {

/// Exact text of the outcomes. Unordered entries are sorted.
std::string text_of(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    text += "head " + (outcome.head ? std::to_string(*outcome.head) : "none") + ", skipped '" +
            outcome.skipped + "', note '" + outcome.note + "', " + record_text(outcome.fields) +
            "\n";
  }
  return text;
}

/// Every type of value, alone and nested.
Record odd_record() {
  using List = Value::List;
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  constexpr double kHuge = std::numeric_limits<double>::max();
  const Record inner = {{"0.9", 3}, {"", nullptr}, {"$list", "a mark"}, {"$", true}};
  return {{"null", nullptr},
          {"flag", false},
          {"integer", std::numeric_limits<std::int64_t>::min()},
          {"whole number", 1.0},
          {"negative zero", -0.0},
          {"numbers", std::vector<double>{kTiny, -kHuge, 0.1, 1.0 / 3, 1e300}},
          {"no numbers", std::vector<double>{}},
          {"not finite", std::vector<double>{1.5, std::numeric_limits<double>::quiet_NaN()}},
          {"no list", List{}},
          {"list of numbers", List{1.5, 2.5}},
          {"list of nulls", List{nullptr, nullptr}},
          {"mixed", List{1, 2.0, "three", nullptr, List{4}, inner, std::vector<double>{5}}},
          {"record", inner},
          {"no record", Record()},
          {"text", "\"quoted\"\\, \n\r\t\x01\x7F, ünïcödé, 漢字, \U0001F642"},
          {"no text", ""},
          {"", "no name"}};
}

std::vector<std::vector<Outcome>> odd_outcomes() {
  std::vector<std::vector<Outcome>> jobs = {
      {},
      {Outcome{}},
      {{.fields = odd_record()}},
      {{.head = 0, .fields = odd_record(), .note = "ä note"},
       {.head = std::numeric_limits<std::int64_t>::max(), .skipped = "holds \"NaN\""},
       {.fields = {{"circuit", "qk"}}, .skipped = "both"}},
  };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int job = 0; job < 50; ++job) {
    std::vector<Outcome>& outcomes = jobs.emplace_back();
    for (std::int64_t head = 0; head < job % 7; ++head) {
      std::vector<double> values(random() % 300);
      for (double& value : values) value = std::exp(20 * normal(random));
      outcomes.push_back({.head = head, .fields = {{"values", values}, {"score", normal(random)}}});
    }
  }
  return jobs;
}

TEST(OutcomeBuffer, ReturnsWhatWasPut) {
  const auto jobs = odd_outcomes();
  for (const std::size_t memory_bytes : {0, 1, 2000, 20'000, 1 << 30}) {
    SCOPED_TRACE(std::to_string(memory_bytes) + " bytes");
    OutcomeBuffer buffer(memory_bytes);
    for (std::size_t job = jobs.size(); job-- > 0;) {
      EXPECT_FALSE(buffer.has(job));
      buffer.put(job, jobs[job]);
      EXPECT_TRUE(buffer.has(job));
    }
    for (int time = 0; time < 2; ++time) {
      for (std::size_t job = 0; job < jobs.size(); ++job) {
        EXPECT_EQ(text_of(buffer.get(job)), text_of(jobs[job])) << job;
      }
    }
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      buffer.drop(job);
      EXPECT_FALSE(buffer.has(job));
      if (job + 1 < jobs.size()) {
        EXPECT_EQ(text_of(buffer.get(job + 1)), text_of(jobs[job + 1]));
      }
    }
    buffer.put(3, jobs[3]);  // the buffer has room again
    EXPECT_EQ(text_of(buffer.get(3)), text_of(jobs[3]));
  }
}

TEST(OutcomeBuffer, AcceptsOutcomesFromManyThreads) {
  const auto jobs = odd_outcomes();
  OutcomeBuffer buffer(3000);
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (std::size_t job = first; job < jobs.size(); job += 4) {
          buffer.put(job, jobs[job]);
          EXPECT_EQ(text_of(buffer.get(job)), text_of(jobs[job]));
          if (job % 3 == 0) buffer.drop(job);
        }
      });
    }
  }
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    EXPECT_EQ(buffer.has(job), job % 3 != 0);
    if (job % 3 == 0) continue;
    EXPECT_EQ(text_of(buffer.get(job)), text_of(jobs[job]));
  }
}

}  // namespace
}  // namespace attnscope::test
