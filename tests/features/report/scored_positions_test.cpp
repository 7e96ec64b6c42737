// Reports on examples: every section that runs the text scores the same positions as its command.
#include "tests/features/attention/attention_model.h"
#include "tests/support/report_page.h"

namespace attnscope::test {
namespace {

TEST(ScoredReport, SectionsScoreTheSelectedPositions) {
  const TempFolder folder;
  const std::string shard =
      folder.write("tokens.bin", shard_bytes(random_tokens(160, 48))).string();
  for (const char* name : {"llama", "mixtral"}) {
    SCOPED_TRACE(name);
    const Words text = {tiny_model(name),    "--token-file", shard, "--length", "8",
                        "--score-positions", "3-5"};
    const ReportPage page = report_page(folder, text);
    Words ids = {"attention", "lens", "ablate"};
    if (name == std::string("mixtral")) ids.push_back("routing");
    for (const std::string& id : ids) {
      SCOPED_TRACE(id);
      const json part = page.part(id);
      EXPECT_EQ(part["parameters"]["score_positions"], "3-5");
      EXPECT_TRUE(contains(part["again"].get<std::string>(), "--score-positions 3-5"))
          << part["again"];
    }
    // All 20 examples, each with three scored tokens.
    EXPECT_EQ(page.part("lens")["rows"].back()["predicted"], 60);
    EXPECT_EQ(page.part("lens")["rows"].back()["loss"],
              report_of(Words{"lens"} + text)["rows"].back()["loss"]);
    EXPECT_EQ(page.part("ablate")["rows"][0]["predicted"], 60);
    if (ids.size() < 4) continue;
    EXPECT_EQ(page.part("routing")["rows"][0]["tokens"], 60);
    const json routing = report_of(Words{"experts"} + text)["rows"];
    for (std::size_t row = 0; row < routing.size(); ++row) {
      EXPECT_EQ(page.part("routing")["rows"][row]["load"], routing[row]["load"]);
    }
  }
}

/// A tiny Llama with a word tokenizer.
std::string llama_with_words(const TempFolder& folder) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(tiny_model("llama") + "/" + file, folder.path() / file);
  }
  json vocabulary;
  for (int id = 0; id < 48; ++id) vocabulary["w" + std::to_string(id)] = id;
  folder.write("tokenizer.json",
               json{{"version", "1.0"},
                    {"pre_tokenizer", {{"type", "Whitespace"}}},
                    {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}}
                   .dump());
  return folder.path().string();
}

TEST(ScoredReport, SectionsUseTheSameLines) {
  const TempFolder folder, model;
  std::string text, mask;
  for (int line = 0; line < 40; ++line) {
    for (int word = 0; word < 6; ++word) {
      text += "w" + std::to_string(1 + (7 * line + word * word) % 47) + " ";
    }
    text += "\n";
    mask += "000001\n";
  }
  const std::string file = folder.write("lines.txt", text).string();
  const Words report = {llama_with_words(model), "--text-file", file,     "--lines",
                        "--plan-text",           file,          "--quiet"};
  const ReportPage page = report_page(folder, report + Words{"--score-positions", "last"});
  for (const char* id : {"attention", "lens", "ablate", "directions", "plan"}) {
    const json part = page.part(id);
    EXPECT_EQ(part["parameters"]["lines"], true) << id;
    if (id == std::string("directions")) continue;
    EXPECT_EQ(part["parameters"]["score_positions"], "last") << id;
  }
  EXPECT_EQ(page.part("lens")["rows"].back()["predicted"], 40);
  // The mask belongs to the report's own text, not to the calibration text of plans.
  const std::string file_of_mask = folder.write("mask.txt", mask).string();
  const ReportPage masked = report_page(folder, report + Words{"--score-positions", file_of_mask});
  EXPECT_EQ(masked.part("lens")["parameters"]["score_positions"], "mask.txt");
  EXPECT_EQ(masked.part("lens")["rows"].back()["loss"], page.part("lens")["rows"].back()["loss"]);
  EXPECT_FALSE(masked.part("plan")["parameters"].contains("score_positions"));
}

TEST(ScoredReport, NeedsAText) {
  for (const Words& option : {Words{"--lines"}, Words{"--score-positions", "last"}}) {
    const RunResult run =
        run_attnscope(Words{"report", tiny_model("llama"), "-o", "r.html"} + option);
    EXPECT_EQ(run.exit_code, kUsage);
    EXPECT_TRUE(contains(run.err, option.front() + ": requires an input text")) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
