#include <gtest/gtest.h>

#include <sstream>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record unlisted_row(const char* model) {
  const Record ranks = {{"0.9", 3}};
  return {{"model", model},
          {"layer", 0},
          {"matrix", "q"},
          {"head", nullptr},
          {"shape", Array{{2}, std::vector<std::int64_t>{4, 4}}},
          {"energy_rank", ranks},
          {"random_energy_rank", ranks},
          {"max_possible_rank", 4}};
}

std::string unlisted_table(const Report& report) {
  std::ostringstream out;
  write_spectrum_table(report, {}, out);
  return std::move(out).str();
}

/// Model info may come from a store, which can contain anything.
TEST(UnlistedModel, ShowsRowsOfAnUnlistedModelUnderItsName) {
  Report report;
  report.command = "spectrum";
  report.rows = {unlisted_row("unheard-of"), unlisted_row("other")};
  report.skipped = {{.model = "third", .layer = 1, .matrix = "k", .head = {}, .reason = "missing"}};
  for (const bool lists_one : {false, true}) {
    if (lists_one) report.models = {{{"name", "other"}}};
    const std::string table = unlisted_table(report);
    for (const char* name : {"unheard-of", "other", "third", "3  75%"}) {
      EXPECT_NE(table.find(name), std::string::npos) << table;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
