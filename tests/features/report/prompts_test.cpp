// `report --prompts`: the rows of `ablate --prompts`, and their charts.
#include "attnscope/base/error.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/report_page.h"
#include "tests/support/shell_words.h"

namespace attnscope::test {
namespace {

const std::string kInductionModel = source_path("examples/induction-gpt2");

/// Prompts for examples/induction-gpt2: tokens, then the first two again. Corrupted prompts swap
/// the two answers. `length`: of the tokens of each prompt.
std::string repeated_tokens(const std::function<int(int)>& length, bool corrupted = true) {
  std::string lines;
  for (int prompt = 0; prompt < 16; ++prompt) {
    json clean = json::array();
    for (int at = 0; at < length(prompt); ++at) clean.push_back((5 * prompt + 9 * at) % 64);
    json other = clean;
    std::swap(other[2], other[4]);
    json line = {{"correct", clean[2]}, {"incorrect", clean[4]}};
    for (json* text : {&clean, &other}) {
      for (const int at : {0, 1}) text->push_back((*text)[static_cast<std::size_t>(at)]);
    }
    line["clean"] = clean;
    if (corrupted) line["corrupted"] = other;
    lines += line.dump() + "\n";
  }
  return lines;
}

class CliReportPrompts : public testing::Test {
 protected:
  Words report_on(const std::string& prompts) {
    return {kInductionModel, "--tokens", "1,2,3,4", "--prompts",
            folder_.write("prompts.jsonl", prompts).string()};
  }

  /// Why the section of the model is left out.
  static std::string why(const ReportPage& page, const char* id,
                         const std::string& model = "induction-gpt2") {
    return page.left_out_of(model).at(id).at("why").get<std::string>();
  }

  /// The section contains the rows of the command that it names, and of this command.
  void expect_rows_of(const ReportPage& page, const char* id, const Words& command) {
    SCOPED_TRACE(id);
    const json &part = page.part(id), printed = report_of(command);
    EXPECT_EQ(part["rows"], printed["rows"]);
    EXPECT_EQ(part["parameters"], printed["parameters"]);
    EXPECT_EQ(report_of(shell_words(part["again"].get<std::string>()))["rows"], printed["rows"]);
    EXPECT_FALSE(part["rows"].empty());
  }

  TempFolder folder_;
};

const auto kEqualLengths = [](int) { return 6; };
const auto kSeveralLengths = [](int prompt) { return 5 + prompt % 2; };

TEST_F(CliReportPrompts, ContainsTheRowsOfAblate) {
  const Words words = report_on(repeated_tokens(kEqualLengths));
  std::string notes;
  const ReportPage page = report_page(folder_, words, &notes);
  const Words ablate = {"ablate", kInductionModel, "--prompts", words.back()};
  expect_rows_of(page, "ablate_prompts", ablate + Words{"--components", "all"});
  expect_rows_of(page, "ablate_patching",
                 ablate + Words{"--patch-positions", "each", "--patching", "denoising"});
  expect_rows_of(page, "ablate_path",
                 ablate + Words{"--sender", "each-layer", "--patching", "denoising"});
  EXPECT_TRUE(contains(page.results["command"].get<std::string>(), "--prompts " + words.back()));
}

TEST_F(CliReportPrompts, DrawsCharts) {
  try {
    check_draws_charts(charts_script());
  } catch (const Error&) {
    GTEST_SKIP() << "this build cannot draw charts";
  }
  const std::filesystem::path charts = folder_.path() / "charts";
  const RunResult run =
      run_attnscope(Words{"report"} + report_on(repeated_tokens(kEqualLengths)) +
                    Words{"--patch-positions", "2,-1", "--quiet", "--charts", charts.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* name :
       {"prompts-heads-denoising", "prompts-heads-noising", "prompts-layers-denoising",
        "patching-resid_pre", "patching-head", "paths-q", "paths-k-composition", "paths-logits"}) {
    EXPECT_TRUE(std::filesystem::exists(charts / (std::string(name) + ".svg"))) << name;
  }
}

TEST_F(CliReportPrompts, NamesWhatThesePromptsDoNotAllow) {
  std::string notes;
  ReportPage page = report_page(folder_, report_on(repeated_tokens(kSeveralLengths)), &notes);
  EXPECT_TRUE(contains(why(page, "ablate_patching"), "differ in length")) << notes;
  EXPECT_FALSE(page.part("ablate_path")["rows"].empty());

  page = report_page(
      folder_, report_on(repeated_tokens(kSeveralLengths)) + Words{"--patch-positions", "last"},
      &notes);
  for (const json& row : page.part("ablate_patching")["rows"]) EXPECT_EQ(row["position"], -1);

  page =
      report_page(folder_, report_on(repeated_tokens(kEqualLengths, /*corrupted=*/false)), &notes);
  for (const char* id : {"ablate_patching", "ablate_path"}) {
    EXPECT_TRUE(contains(why(page, id), "requires corrupted prompts")) << id;
  }
  EXPECT_EQ(page.part("ablate_prompts")["rows"].at(0)["ablation"], "mean");
}

TEST_F(CliReportPrompts, LeavesOutModelsThatCannotAnswer) {
  std::string notes;
  const ReportPage page = report_page(
      folder_, Words{tiny_model("bert")} + report_on(repeated_tokens(kEqualLengths)), &notes);
  EXPECT_EQ(page.models_with("ablate_prompts"), Words{"induction-gpt2"});
  for (const char* id : {"ablate_prompts", "ablate_patching", "ablate_path"}) {
    EXPECT_TRUE(contains(why(page, id, "bert"), "bidirectional")) << id;
  }
}

TEST_F(CliReportPrompts, RefusesWhatItCannotRun) {
  const std::string out = (folder_.path() / "report.html").string();
  const std::string good = folder_.write("good.jsonl", repeated_tokens(kEqualLengths)).string();
  const std::string bad = folder_.write("bad.jsonl", "{\"clean\": [1]}").string();
  const std::string several =
      folder_.write("several.jsonl", repeated_tokens(kSeveralLengths)).string();
  const auto refuse = [&](const std::string& model, const Words& more, int code,
                          const std::string& said) {
    expect_refusal(Words{"report", model, "-o", out} + more, code, {said});
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refuse(tiny_model("bert"), {"--prompts", good}, 5, "--prompts: bert is bidirectional");
  refuse(data_path("encoder_decoders/t5"), {"--prompts", good}, 5, "encoder-decoder");
  refuse(kInductionModel, {"--prompts", bad}, 4, "line 1: missing 'correct'");
  refuse(kInductionModel, {"--prompts", out + ".no"}, 3, "report.html.no");
  refuse(kInductionModel, {"--patch-positions", "last"}, 2,
         "--patch-positions: requires --prompts");
  refuse(kInductionModel, {"--prompts", good, "--patch-positions", "99"}, 2, "past the end");
  refuse(kInductionModel, {"--prompts", several, "--patch-positions", "each"}, 2,
         "differ in length");
}

}  // namespace
}  // namespace attnscope::test
