// `attention` and `report` of encoder-decoders on the lines of two files.
#include <string>

#include "tests/features/attention/attention_model.h"
#include "tests/support/paired_files.h"
#include "tests/support/refusals.h"
#include "tests/support/report_page.h"

namespace attnscope::test {
namespace {

json golden_of_lines() { return intervention_golden("paired-t5"); }

std::string comma_list(const json& ids) {
  std::string list;
  for (const json& id : ids) list += (list.empty() ? "" : ",") + id.dump();
  return list;
}

/// Pairs differ in length, so each pair runs separately. Compares the means of every number in a
/// row.
TEST(CliTargetFile, AttentionIsTheMeanOverTheLines) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const json& pairs = golden["pairs"];
  const Words lines = files.with(pairs);
  for (const std::string stack : {"encoder", "decoder", "cross"}) {
    SCOPED_TRACE(stack);
    const json rows = report_of(Words{"attention"} + lines + Words{"--stack", stack})["rows"];
    ASSERT_FALSE(rows.empty());
    std::vector<json> alone;
    for (const json& pair : pairs) {
      Words words = {"attention", lines.front(), "--stack",
                     stack,       "--tokens",    comma_list(pair["source"])};
      json target = pair["target"];
      if (target.back() == 1) target.erase(target.size() - 1);  // no token follows the end token
      if (stack != "encoder") words = words + Words{"--target-tokens", comma_list(target)};
      alone.push_back(report_of(words)["rows"]);
    }
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (rows[at]["head"].is_null()) continue;
      EXPECT_EQ(rows[at]["sequences"], pairs.size());
      for (const char* field : {"entropy", "sink_mass", "uniform_sink_mass", "output_ratio",
                                "energy_rank", "energy_columns"}) {
        double sum = 0;
        for (const json& of_pair : alone) sum += of_pair[at][field].get<double>();
        EXPECT_NEAR(rows[at][field].get<double>(), sum / static_cast<double>(pairs.size()), 1e-6)
            << field;
      }
    }
  }
}

TEST(CliTargetFile, SelectsLinesByNumberAndSeed) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words lines = files.with(golden["pairs"]);
  for (const char* command : {"attention", "ablate", "lens"}) {
    const auto of = [&](const Words& more) {
      const json report = json::parse(
          output_of(Words{command} + lines + more + Words{"--format", "json", "--quiet"}));
      EXPECT_EQ(report["parameters"]["sequences"], 2) << command;
      return report;
    };
    const json usual = of({"--sequences", "2"});
    EXPECT_EQ(usual["parameters"]["seed"], 0) << command;
    EXPECT_EQ(usual["rows"], of({"--sequences", "2", "--seed", "0"})["rows"]);
    EXPECT_TRUE(of({"--sequences", "2", "--consecutive"})["parameters"]["seed"].is_null());
    expect_refusal(Words{command} + lines + Words{"--sequences", "99"}, kUsage,
                   {"targets.txt", "fewer than --sequences 99"});
    expect_refusal(Words{command} + lines + Words{"--length", "3"}, kUsage, {"--target-file"});
  }
}

/// Every section that runs text uses these lines, and so does the command that prints its rows.
TEST(CliTargetFile, ReportsRunEverySectionOnTheLines) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words lines = files.with(golden["pairs"]);
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(folder, lines, &notes);
  EXPECT_FALSE(contains(notes, "give --target")) << notes;
  const std::string name = std::filesystem::path(lines.front()).filename().string();
  for (const char* part : {"attention", "attention_excluding_first", "ablate"}) {
    EXPECT_EQ(page.models_with(part),
              (Words{name + ":encoder", name + ":decoder", name + ":cross"}))
        << part;
  }
  EXPECT_EQ(page.models_with("lens"), (Words{name + ":decoder"}));
  int of_lines = 0;
  for (const json& part : page.results["reports"]) {
    const std::string id = part["id"], again = part["again"];
    if (id != "ablate" && id != "lens" && !(id.starts_with("attention"))) continue;
    EXPECT_TRUE(contains(again, "--target-file")) << again;
    EXPECT_TRUE(contains(again, "--text-file")) << again;
    for (const json& row : part["rows"]) {
      if (row.contains("sequences")) {
        EXPECT_EQ(row["sequences"], golden["pairs"].size());
      }
    }
    ++of_lines;
  }
  EXPECT_EQ(of_lines, 3 * 3 + 1);
  EXPECT_TRUE(contains(page.results["command"].get<std::string>(), "--target-file"));
  const json wanted = report_of(Words{"ablate"} + lines + Words{"--stack", "cross"})["rows"];
  for (const json& part : page.results["reports"]) {
    if (part["id"] != "ablate" || part["model"] != name + ":cross") continue;
    ASSERT_EQ(part["rows"].size(), wanted.size());
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      EXPECT_EQ(part["rows"][at]["loss_increase"], wanted[at]["loss_increase"]);
    }
  }
}

TEST(CliTargetFile, ReportsWithoutATargetFileNameIt) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words lines = files.with(golden["pairs"]);
  const TempFolder folder;
  std::string notes;
  const Words source(lines.begin(), lines.begin() + 3);
  const ReportPage page = report_page(folder, source + Words{"--length", "3"}, &notes);
  EXPECT_TRUE(contains(notes, "pass --text-file and --target-file")) << notes;
  EXPECT_EQ(page.models_with("attention").size(), 1u);
}

TEST(CliTargetFile, RejectsInvalidFilesInOneLine) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words lines = files.with(golden["pairs"]);
  const TempFolder folder;
  const std::string text = lines[2], out = (folder.path() / "r.html").string();
  const std::string odd = folder.write("odd.txt", "w3 w4\n").string();
  const Words report = {"report", "--out", out, "--text-file", text, "--target-file", text};
  for (const std::string model : {"forward/gpt2", "forward/bert"}) {
    expect_refusal(report + Words{data_path(model)}, kUsage,
                   {"--target-file", "requires an encoder-decoder model"});
    expect_refusal({"attention", data_path(model), "--text-file", text, "--target-file", text},
                   kUsage, {"--target-file", "requires an encoder-decoder model"});
  }
  expect_refusal({"report", lines.front(), "--out", out, "--target-file", text}, kUsage,
                 {"--target-file", "--text-file"});
  expect_refusal({"report", lines.front(), "--out", out, "--text-file", text, "--target-file", odd},
                 kUsage, {"--target-file", "has 1 line"});
  expect_refusal({"report", lines.front(), "--out", out, "--tokens", "3", "--target-file", odd},
                 kUsage, {"--target-file", "--tokens"});
  expect_refusal(Words{"attention"} + lines +
                     Words{"--stack", "cross", "--maps", (folder.path() / "m.safetensors").string(),
                           "--maps-of", "mean"},
                 kUsage, {"--maps-of", "sequences of equal length"});
}

/// Checks unreadable inputs and positions beyond every target. Both are rejected before any
/// computation.
TEST(CliTargetFile, ReportsRejectWhatOtherCommandsReject) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words lines = files.with(golden["pairs"]);
  const TempFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  const auto target = [&](const std::string& file) {
    Words words = Words{"report"} + lines + Words{"--out", page};
    words[5] = file;
    return words;
  };
  const auto scored = [&](const std::string& positions) {
    return Words{"report"} + lines + Words{"--out", page, "--score-positions", positions};
  };
  const std::string utf16 = folder.write("utf16.txt", std::string("\xFF\xFEw\0\n\0", 6)).string();
  const std::string mask = folder.write("mask.txt", "01\n0x\n").string();
  const std::string short_one = folder.write("short.txt", "w3\n").string();
  expect_refusal(target((folder.path() / "none.txt").string()), kIo, {"none.txt"});
  expect_refusal(target("/dev/zero"), kIo, {"/dev/zero", "is a device"});
  expect_refusal(target(utf16), kBadFile, {"utf16.txt", "UTF-16"});
  expect_refusal(target(short_one), kUsage, {"--target-file", "1 line"});
  expect_refusal(scored(mask), kBadFile, {"mask.txt", "line 2"});
  expect_refusal(scored("400"), kUsage, {"--score-positions", "past the end of every example"});
  expect_refusal(Words{"attention"} + lines + Words{"--score-positions", "400"}, kUsage,
                 {"--score-positions", "past the end of every example"});
  EXPECT_FALSE(std::filesystem::exists(page));
}

/// The positions of `--score-positions` are positions in the targets.
TEST(CliTargetFile, AttentionScoresPositionsOfTargets) {
  const json golden = golden_of_lines();
  const PairedFiles files(golden);
  const Words words =
      Words{"attention"} + files.with(golden["pairs"]) + Words{"--stack", "decoder"};
  const json all = report_of(words);
  const json some = report_of(words + Words{"--score-positions", "1"});
  EXPECT_EQ(some["parameters"]["score_positions"], "1");
  EXPECT_NE(some["rows"][0]["entropy"], all["rows"][0]["entropy"]);
  // Position 1 is predicted at the start token, which attends only to itself.
  EXPECT_NEAR(some["rows"][0]["entropy"].get<double>(), 0, 1e-6);
}

}  // namespace
}  // namespace attnscope::test
