// Runs, places and rows that are small enough for tests to list.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/store/store.h"
#include "attnscope/rows/lossless_json.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {

inline constexpr std::int64_t kSecond_ns = 1'000'000'000;

class StoreTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "rows.sqlite") const {
    return (folder_.path() / name).string();
  }
  Store open() const { return Store::open(path(), "1.0"); }

  static StoredFile file() {
    return {.path = "/model/w.safetensors",
            .bytes = 100,
            .modified_ns = 5 * kSecond_ns,
            .changed_ns = 5 * kSecond_ns};
  }
  static StoredRun run(double threshold = 0.9) {
    return {.analysis = {.name = "spectrum",
                         .command = "spectrum",
                         .parameters = {{"energy", std::vector<double>{threshold}}}},
            .parameters = {{"energy", std::vector<double>{threshold}}, {"layers", Value()}},
            .models = {{.path = "/model/w.safetensors",
                        .description = "/model/config.json",
                        .name = "model",
                        .facts = {{"name", "model"}, {"layers", 2}},
                        .files = {file()}}}};
  }
  static std::vector<StoredPlace> place(std::int64_t layer, const StoredFile& from = file()) {
    const StoredTensor tensor{
        .file = from, .name = "w", .hash = "1234", .hashed_ns = 60 * kSecond_ns};
    return {{.layer = layer, .matrix = "q", .tensors = {tensor}}};
  }
  static std::vector<Outcome> outcomes(double value = 0.1) {
    return {{.fields = {{"stable_rank", value}, {"shape", std::vector<std::int64_t>{2, 3}}}},
            {.head = 0, .skipped = "holds NaN"},
            {.head = 1, .fields = {{"stable_rank", 1.0}}, .note = "look"}};
  }
  static void expect_outcomes(const std::vector<Outcome>& got, const std::vector<Outcome>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
      EXPECT_EQ(got[at].head, wanted[at].head);
      EXPECT_EQ(record_text(got[at].fields), record_text(wanted[at].fields));
      EXPECT_EQ(got[at].skipped, wanted[at].skipped);
      EXPECT_EQ(got[at].note, wanted[at].note);
    }
  }

  /// A set with all its rows.
  struct ReadSet : StoredSet {
    std::vector<StoredRows> rows;
  };
  static ReadSet read_set(Store& store, std::int64_t id) {
    ReadSet set;
    store.for_each_rows(
        id, [&](const StoredSet& found) { static_cast<StoredSet&>(set) = found; },
        [&](const StoredRows& rows) { set.rows.push_back(rows); });
    return set;
  }

  TempFolder folder_;
};

}  // namespace attnscope::test
