// `--lines`: each line is a separate example, compared with separate runs of each line.
#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

/// Losses are float64 softmaxes of float32 logits, which two runs compute in different batches.
constexpr double kLineLossTolerance = 1e-5;

const Words kLines = {"To be, or not to be",
                      "that is the question:", "Whether 'tis nobler in the mind", "to suffer"};

std::string text_of_lines() {
  std::string text;
  for (const std::string& line : kLines) text += line + "\r\n\n";
  return text;
}

TEST(ScoredLines, EachLineIsASeparateText) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const json report =
      report_of({"predict", kShakespeareLlama, "--text-file", file, "--perplexity", "--lines"});
  ASSERT_EQ(report["rows"].size(), kLines.size());
  double sum = 0;
  std::int64_t predicted = 0;
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    const json& row = report["rows"][line];
    const json alone = report_of(
        {"predict", kShakespeareLlama, "--text", kLines[line], "--perplexity"})["rows"][0];
    EXPECT_EQ(row["example"], line);
    EXPECT_EQ(row["first"], 0);
    EXPECT_EQ(row["length"], alone["length"]);
    EXPECT_NEAR(row["mean_nll"].get<double>(), alone["mean_nll"].get<double>(), kLineLossTolerance);
    predicted += row["predicted"].get<std::int64_t>();
    sum += row["mean_nll"].get<double>() * row["predicted"].get<double>();
  }
  const double mean = sum / static_cast<double>(predicted);
  EXPECT_NEAR(report["models"][0]["perplexity"]["mean_nll"].get<double>(), mean, 1e-9);
  for (const char* command : {"lens", "ablate"}) {
    Words words = {command, kShakespeareLlama, "--text-file", file, "--lines"};
    if (command == std::string("ablate"))
      words = words + Words{"--components", "mlp", "--layers", "0"};
    const json lines = report_of(words);
    EXPECT_EQ(lines["parameters"]["lines"], true);
    EXPECT_EQ(lines["parameters"]["sequences"], kLines.size());
    EXPECT_EQ(lines["rows"].back()["predicted"], predicted) << command;
    EXPECT_NEAR(lines["rows"].back()["loss"].get<double>(), mean, kLineLossTolerance) << command;
  }
}

TEST(ScoredLines, AttentionIsTheMeanOverLines) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const Words last = {"--score-positions", "last", "--layers", "0"};
  const json row = report_of(Words{"attention", kShakespeareLlama, "--text-file", file, "--lines"} +
                             last)["rows"][0];
  double entropy = 0;
  for (const std::string& line : kLines) {
    entropy += report_of(Words{"attention", kShakespeareLlama, "--text", line} +
                         last)["rows"][0]["entropy"]
                   .get<double>();
  }
  EXPECT_EQ(row["sequences"], kLines.size());
  EXPECT_NEAR(row["entropy"].get<double>(), entropy / static_cast<double>(kLines.size()), 1e-5);
}

TEST(ScoredLines, ALongLineGivesSeveralWindowsAndNoneCrossesLines) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const json whole = report_of({"lens", kShakespeareLlama, "--text-file", file, "--lines"});
  const json cut =
      report_of({"lens", kShakespeareLlama, "--text-file", file, "--lines", "--length", "3"});
  EXPECT_GT(cut["parameters"]["sequences"], whole["parameters"]["sequences"].get<std::int64_t>());
  EXPECT_EQ(cut["parameters"]["length"], 3);
  const auto last_of = [&](const Words& more) {
    return report_of(Words{"lens", kShakespeareLlama, "--text-file", file, "--lines",
                           "--score-positions", "last"} +
                     more)["rows"]
        .back()["predicted"];
  };
  EXPECT_EQ(last_of({}), kLines.size());
  EXPECT_EQ(last_of({"--length", "3"}), kLines.size())
      << "the last token of each line is predicted";
}

TEST(ScoredLines, SkipsLinesOfASingleToken) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", "To be\na\nor not\n").string();
  const RunResult run =
      run_attnscope({"lens", kShakespeare, "--text-file", file, "--lines", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "1 line skipped: a single token")) << run.err;
  EXPECT_EQ(json::parse(run.out)["parameters"]["sequences"], 2);
}

/// A mask has one line per line of text, including lines that are skipped.
TEST(ScoredLines, AMaskHasOneLinePerLineOfText) {
  const TempFolder folder;
  const std::string text = folder.write("lines.txt", "To be\na\n\nor not\n").string();
  const auto tokens = [&](const char* line) {
    const json row = report_of({"attention", kShakespeare, "--text", line})["parameters"];
    return row["length"].get<std::size_t>();
  };
  const std::string own =
      std::string(tokens("To be") - 1, '0') + "1\n" + std::string(tokens("a"), '1') + "\n";
  const std::string last = std::string(tokens("or not") - 1, '0') + "1\n";
  const auto run = [&](const std::string& mask, const Words& command) {
    return run_attnscope(command +
                         Words{kShakespeare, "--text-file", text, "--lines", "--score-positions",
                               folder.write("mask.txt", mask).string(), "--format", "json"});
  };
  for (const Words& command : {Words{"lens"}, Words{"predict", "--perplexity"}}) {
    const RunResult found = run(own + last, command);
    EXPECT_EQ(found.exit_code, 0) << found.err;
    const json report = json::parse(found.out);
    const json& scored =
        command.size() > 1 ? report["models"][0]["perplexity"] : report["rows"].back();
    EXPECT_EQ(scored["predicted"], 2);
    for (const std::string& mask : {own, own + last + "1\n"}) {
      const RunResult refused = run(mask, command);
      EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
      EXPECT_TRUE(contains(refused.err, "mask.txt: the mask has ")) << refused.err;
      EXPECT_TRUE(contains(refused.err, ", but the text has 3")) << refused.err;
    }
    const RunResult refused = run(own + "1" + last, command);
    EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
    EXPECT_TRUE(contains(refused.err, "for example 3, which has")) << refused.err;
  }
}

/// A byte order mark, empty lines, surrounding spaces and Windows line ends are not tokens.
TEST(ScoredLines, IgnoresWhitespaceAroundLines) {
  const TempFolder folder;
  const auto loss = [&](const std::string& text) {
    const json report =
        report_of({"predict", kShakespeare, "--text-file", folder.write("lines.txt", text).string(),
                   "--perplexity", "--lines"});
    EXPECT_EQ(report["rows"].size(), 2U);
    return report["models"][0]["perplexity"]["mean_nll"].get<double>();
  };
  const double plain = loss("To be, or not\nthat is");
  EXPECT_EQ(loss("\xef\xbb\xbfTo be, or not\r\n\r\nthat is\r\n"), plain);
  EXPECT_EQ(loss("\n\nTo be, or not\n \t\nthat is\n\n"), plain);
}

TEST(ScoredLines, RejectsATextWithoutLines) {
  const TempFolder folder;
  for (const std::string command : {"lens", "attention", "ablate", "plan"}) {
    const char* option = command == "plan" ? "--calibration-file" : "--text-file";
    for (const char* text : {"\n\n", " \r\n\t\n", ""}) {
      const std::string file = folder.write("blank.txt", text).string();
      const RunResult run = run_attnscope({command, kShakespeare, option, file, "--lines"});
      EXPECT_EQ(run.exit_code, kUsage) << command << ": " << run.err;
      EXPECT_TRUE(contains(run.err, "blank.txt")) << run.err;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
