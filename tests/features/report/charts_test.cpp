// `report --charts`: chart files next to the HTML page, or without a page.
#include <gtest/gtest.h>

#include "attnscope/base/error.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"
#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

bool draws_charts() {
  try {
    check_draws_charts(charts_script());
    return true;
  } catch (const Error&) {
    return false;
  }
}

class CliCharts : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  /// Runs the command successfully. Its only message is the number of charts.
  Words charts_of(const Words& more) {
    const RunResult run = run_attnscope(
        Words{"report", model_, "--tokens", "1,2,3,4", "--charts", path("charts")} + more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "");
    said_ = run.err;
    return files_in(path("charts"));
  }

  TempFolder folder_;
  std::string model_ = tiny_model("gpt2"), said_;
};

TEST_F(CliCharts, WithoutChartSupportTheErrorNamesTheFix) {
  if (draws_charts()) GTEST_SKIP() << "this build draws charts";
  expect_refusal({"report", model_, "--charts", path("charts")}, 5, {"--charts", "install"});
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(CliCharts, AreTwoFilesEach) {
  if (!draws_charts()) GTEST_SKIP() << "this build cannot draw charts";
  const Words files = charts_of({});
  EXPECT_GT(files.size(), 2U);
  EXPECT_EQ(files.size() % 2, 0U);
  EXPECT_TRUE(contains(said_, std::to_string(files.size() / 2) + " charts")) << said_;
  for (std::size_t at = 0; at + 1 < files.size(); at += 2) {
    SCOPED_TRACE(files[at]);
    const std::string name = files[at].substr(0, files[at].size() - 4);
    ASSERT_EQ(files[at], name + ".svg");
    ASSERT_EQ(files[at + 1], name + ".vl.json");
    EXPECT_TRUE(read_file(folder_.path() / "charts" / files[at]).starts_with("<svg"));
    const json chart = json::parse(read_file(folder_.path() / "charts" / files[at + 1]));
    EXPECT_TRUE(contains(chart.at("$schema").get<std::string>(), "vega-lite"));
  }
  EXPECT_EQ(files_in(folder_.path()), Words{"charts"});
}

TEST_F(CliCharts, StandBesideAPageAndBesideOtherFiles) {
  if (!draws_charts()) GTEST_SKIP() << "this build cannot draw charts";
  folder_.write("charts/notes.txt", "mine");
  const Words files = charts_of({"-o", path("report.html"), "--quiet"});
  EXPECT_EQ(said_, "");
  EXPECT_EQ(read_file(path("charts/notes.txt")), "mine");
  EXPECT_EQ(files.size() % 2, 1U);
  EXPECT_EQ(files_in(folder_.path()), (Words{"charts", "report.html"}));
  EXPECT_EQ(charts_of({"--quiet"}), files);
}

TEST_F(CliCharts, AFolderThatCannotBeIsKnownBeforeTheWork) {
  if (!draws_charts()) GTEST_SKIP() << "this build cannot draw charts";
  folder_.write("file", "");
  expect_refusal({"report", model_, "--charts", path("file")}, 3, {"file", "folder"});
  expect_refusal({"report", model_, "--charts", path("no/charts")}, 3, {"no/charts", "folder"});
  expect_refusal({"report", "/nowhere", "--charts", path("charts")}, 3, {"/nowhere"});
  EXPECT_EQ(files_in(folder_.path()), Words{"file"});
}

TEST_F(CliCharts, RequiresAPageOrCharts) {
  expect_refusal({"report", model_}, 2, {"--out", "--charts"});
  expect_refusal({"report", model_, "-o", path("x"), "--charts", path("x")}, 2, {"--out"});
}

}  // namespace
}  // namespace attnscope::test
