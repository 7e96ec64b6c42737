// JSON output is complete for any combination of contents.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

json written_json(const Report& report) {
  std::ostringstream out;
  send(report, *formats()[2].make({}, out));
  EXPECT_TRUE(out.str().ends_with("}\n"));
  return json::parse(out.str());
}

TEST(JsonWriter, RowsAndSkippedEntriesMayBothBeMissing) {
  const std::vector<Record> rows = {{{"model", "m"}, {"value", 0.5}},
                                    {{"values", std::vector<double>{1, 2}}, {"none", nullptr}}};
  const std::vector<Skipped> skipped = {{"m", 3, "q", std::nullopt, "a \"reason\"\n"},
                                        {"m", std::nullopt, "w", 1, ""}};
  for (std::size_t row_count = 0; row_count <= rows.size(); ++row_count) {
    for (std::size_t skipped_count = 0; skipped_count <= skipped.size(); ++skipped_count) {
      Report report;
      report.command = "spectrum";
      report.models = {{{"name", "m"}}};
      report.parameters = {{"energy", std::vector<double>{0.9}}};
      report.rows.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(row_count));
      report.skipped.assign(skipped.begin(),
                            skipped.begin() + static_cast<std::ptrdiff_t>(skipped_count));
      const json found = written_json(report);
      EXPECT_EQ(found.at("schema"), "attnscope/2");
      EXPECT_EQ(found.at("command"), "spectrum");
      EXPECT_EQ(found.at("models"), json::parse(R"([{"name":"m"}])"));
      EXPECT_EQ(found.at("parameters"), json::parse(R"({"energy":[0.9]})"));
      ASSERT_EQ(found.at("rows").size(), row_count);
      ASSERT_EQ(found.at("skipped").size(), skipped_count);
      EXPECT_EQ(found.size(), 6u);
    }
  }
}

TEST(JsonWriter, AnEmptyReportIsValid) {
  const json found = written_json({});
  EXPECT_EQ(found.at("rows"), json::array());
  EXPECT_EQ(found.at("skipped"), json::array());
  EXPECT_EQ(found.at("models"), json::array());
  EXPECT_EQ(found.at("parameters"), json::object());
}

TEST(JsonWriter, SkippedEntriesHaveAllFields) {
  Report report;
  report.skipped = {{"m", 3, "q", std::nullopt, "a \"reason\""}};
  EXPECT_EQ(
      written_json(report).at("skipped"),
      json::parse(R"([{"model":"m","layer":3,"matrix":"q","head":null,"reason":"a \"reason\""}])"));
}

}  // namespace
}  // namespace attnscope::test
