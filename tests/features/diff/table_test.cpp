// The table of `diff`: each cell has the energy rank of the change at each threshold, and its
// relative size.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record change_row(std::int64_t layer, const std::string& matrix, Value head, std::int64_t rank,
                  std::int64_t more, double change, double weight) {
  return {{"model", "tuned"},
          {"layer", layer},
          {"matrix", matrix},
          {"head", std::move(head)},
          {"relative_change", weight > 0 ? Value(change / weight) : Value()},
          {"change_norm", change},
          {"weight_norm", weight},
          {"energy_rank", Record{{"0.9", rank}, {"0.99", more}}}};
}

Report change_report() {
  Report report;
  report.command = "diff";
  for (const char* name : {"base", "tuned"}) {
    report.models.push_back({{"name", name},
                             {"architecture", "llama"},
                             {"layers", 2},
                             {"heads", 4},
                             {"kv_heads", 2},
                             {"head_dim", 16},
                             {"hidden_size", 64},
                             {"dtype", "BF16"}});
  }
  return report;
}

std::string diff_table(const Report& report, int width = 80) {
  std::ostringstream out;
  send(report, *formats()[0].make({.width = width}, out));
  return out.str();
}

const std::string kDiffTitle =
    "tuned  llama, 2 layers, 4 heads (2 key/value) of 16, hidden size 64, BF16\n\n";
const std::string kDiffLegend =
    "Number of singular values needed for 0.9 and 0.99 of the energy of the change\n"
    "from base. %: norm of the change relative to the norm of the base matrix. all:\n"
    "all matrices of the layer together.\n";

TEST(DiffTable, ShowsRanksAndSizeOfTheChangePerMatrix) {
  Report report = change_report();
  report.rows = {change_row(0, "q", Value(), 8, 16, 3, 40),
                 change_row(0, "v", Value(), 0, 0, 0, 30),
                 change_row(1, "q", Value(), 60, 64, 0.03, 40)};
  report.skipped = {{.model = "tuned",
                     .layer = 1,
                     .matrix = "v",
                     .head = std::nullopt,
                     .reason = "has another shape than in base"}};
  EXPECT_EQ(diff_table(report), kDiffTitle + R"(layer                q                v    all
0         8  16   7.5%     0   0   0.0%   6.0%
1        60  64  <0.1%                -  <0.1%

skipped: tuned: v of layer 1: has another shape than in base
)" + kDiffLegend);
}

TEST(DiffTable, ShowsHeadsBelowTheirMatrix) {
  Report report = change_report();
  report.rows = {change_row(0, "q", Value(), 8, 16, 3, 40), change_row(0, "q", 0, 0, 0, 0, 20),
                 change_row(0, "q", 1, 8, 12, 3, 20)};
  EXPECT_EQ(diff_table(report), kDiffTitle + R"(layer                   q   all
0            8  16   7.5%  7.5%
  head 0     0   0   0.0%
  head 1     8  12  15.0%

)" + kDiffLegend);
}

TEST(DiffTable, SeparatesLargeRanksAndOmitsUndefinedShares) {
  Report report = change_report();
  report.rows = {change_row(0, "q", Value(), 1260, 1386, 3, 40),
                 change_row(0, "v", Value(), 3, 6, 3, 0)};
  EXPECT_EQ(diff_table(report), kDiffTitle + R"(layer                  q                v    all
0       1260 1386   7.5%     3   6      -  10.6%

)" + kDiffLegend);
}

}  // namespace
}  // namespace attnscope::test
