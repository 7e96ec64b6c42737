// The default text of reports, and the notes about texts with unknown tokens.
#include "tests/features/attention/attention_model.h"
#include "tests/serve/server.h"
#include "tests/support/report_page.h"

namespace attnscope::test {
namespace {

/// A model with 16 positions and 48 token ids, and a tokenizer of whole words. Id 0 is the unknown
/// token.
std::string model_of_words(const TempFolder& folder, const std::string& name, const json& words) {
  std::filesystem::copy(tiny_model("gpt2"), folder.path() / name);
  json vocabulary = words;
  vocabulary.emplace("[UNK]", 0);
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}}};
  return folder.write(name + "/tokenizer.json", tokenizer.dump()).parent_path().string();
}

json known_words() {
  json words;
  int id = 0;
  for (const char* word :
       {"Alice", "was", "beginning", "to", "get", "very", "tired", "of", "sitting", "by", "her",
        "sister", "on", "the", "bank", ",", "and", "having"}) {
    words[word] = ++id;
  }
  return words;
}

std::size_t tokens_run(const ReportPage& page) {
  return page.results["texts"].at(0)["tokens"].size();
}

TEST(CliReportText, IsCutToThePositionsOfTheModel) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(folder, {model_of_words(folder, "m", known_words())}, &notes);
  EXPECT_EQ(tokens_run(page), 16u);
  EXPECT_TRUE(contains(page.part("attention")["again"].get<std::string>(),
                       "--text \"Alice was beginning to get very tired of sitting by her sister on "
                       "the bank,\""));
  EXPECT_TRUE(contains(notes, "m: uses the first 16 tokens of the default text")) << notes;
  EXPECT_EQ(page.part("induction")["parameters"]["length"], 16);
  EXPECT_EQ(page.results["skipped"], json::array());
}

/// The text correlation of directions is measured on a given text only. The default text is too
/// short.
TEST(CliReportText, MeasuresTextCorrelationOnAGivenTextOnly) {
  const TempFolder folder;
  const std::string model = model_of_words(folder, "m", known_words());
  std::string notes;
  const ReportPage usual = report_page(folder, {model}, &notes);
  for (const json& row : usual.part("directions")["rows"]) {
    EXPECT_FALSE(row.contains("text_correlation"));
  }
  const std::string text = "Alice was very tired of sitting by the bank , and to get";
  const ReportPage given = report_page(folder, {model, "--text", text}, &notes);
  const json directions = given.part("directions");
  EXPECT_TRUE(contains(directions["again"].get<std::string>(), "--text \"Alice was very"));
  ASSERT_FALSE(directions["rows"].empty());
  for (const json& row : directions["rows"]) {
    EXPECT_EQ(row["text_correlation"].is_number(), row["singular_vector"] == "input") << row;
  }
  EXPECT_EQ(given.results["skipped"], json::array());
}

TEST(CliReportText, IsCutToTheContextOfAModelWithoutLearnedPositions) {
  const TempFolder folder;
  std::filesystem::copy(source_path("examples/shakespeare-llama"), folder.path() / "short");
  std::filesystem::remove(folder.path() / "short/config.json");
  json config = json::parse(read_file(source_path("examples/shakespeare-llama/config.json")));
  config["max_position_embeddings"] = 12;
  folder.write("short/config.json", config.dump());
  std::string notes;
  const ReportPage page = report_page(folder, {(folder.path() / "short").string()}, &notes);
  EXPECT_LE(tokens_run(page), 12u);
  EXPECT_GT(tokens_run(page), 4u);
  EXPECT_EQ(page.part("induction")["parameters"]["length"], 12);
}

TEST(CliReportText, IsCutBeforeATokenOutsideTheVocabulary) {
  const TempFolder folder;
  json words = known_words();
  words["tired"] = 48;
  std::string notes;
  const ReportPage page = report_page(folder, {model_of_words(folder, "m", words)}, &notes);
  EXPECT_EQ(tokens_run(page), 6u);
  words["Alice"] = words["[UNK]"] = 48;
  const ReportPage none = report_page(folder, {model_of_words(folder, "n", words)}, &notes);
  EXPECT_TRUE(
      contains(none.left_out_of("n")["attention"]["why"].get<std::string>(), "does not fit"));
  EXPECT_TRUE(contains(notes, "16 positions and 48 tokens")) << notes;
}

TEST(CliReportText, IsNotUsedIfMostOfItIsUnknown) {
  const TempFolder folder;
  const json half = {{"Alice", 1},   {"beginning", 2}, {"get", 3}, {"tired", 4},
                     {"sitting", 5}, {"her", 6},       {"on", 7},  {"bank", 8}};
  json less = half;
  less.erase("bank");
  std::string notes;
  const ReportPage page = report_page(
      folder, {model_of_words(folder, "half", half), model_of_words(folder, "less", less)}, &notes);
  EXPECT_EQ(page.models_with("attention"), Words{"half"});
  EXPECT_EQ(page.models_with("induction"), (Words{"half", "less"}));
  EXPECT_TRUE(
      contains(notes,
               "maps of less: 9 of 16 tokens of the default text are unknown to the tokenizer "
               "(pass a suitable text with --text)"))
      << notes;
}

TEST(CliReportText, NotesUnknownTokensForEveryTextOption) {
  const TempFolder folder;
  const std::string model = model_of_words(folder, "m", known_words());
  const std::string note =
      "m: 2 of 3 tokens are unknown to its tokenizer, so the results mostly describe the unknown "
      "token, not the text";
  const std::string file = folder.write("text.txt", "C C O Alice C C").string();
  const Words commands[] = {
      {"attention", model, "--text", "C Alice O"},
      {"attention", model, "--text", "C Alice O", "--heatmap", "0,0"},
      {"attention", model, "--text-file", file, "--length", "3", "--sequences", "1"},
      {"predict", model, "--text", "C Alice O"},
      {"predict", model, "--text", "C Alice O", "--perplexity"}};
  for (const Words& command : commands) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const bool of_file = command[2] == "--text-file";
    EXPECT_TRUE(contains(run.err, of_file ? "m: 3 of 3 tokens are unknown" : note)) << run.err;
  }
  EXPECT_EQ(output_of({"attention", model, "--text", "Alice was C", "--quiet"}),
            output_of({"attention", model, "--text", "Alice was C"}));
  std::string notes;
  const ReportPage page = report_page(folder, {model, "--text", "C Alice O"}, &notes);
  EXPECT_TRUE(contains(notes, note)) << notes;
  EXPECT_EQ(page.part("attention")["notes"], json::array({note}));
}

TEST(CliReportText, AServedPageShowsTheNotesToo) {
  const TempFolder folder;
  const Server server({model_of_words(folder, "m", known_words()), tiny_model("llama")});
  const json job = server.finished(server.start("/api/attention", {{"text", "C Alice O"}}));
  EXPECT_EQ(job["state"], "done") << "one model can be run: " << job;
  const json results = server.get("/api/results");
  ASSERT_EQ(results["reports"].size(), 4u)
      << "attention, logit lens, tokens of the lens, and ablation";
  EXPECT_TRUE(contains(results["reports"][0]["notes"].dump(), "2 of 3 tokens are unknown"));
  EXPECT_TRUE(contains(results["skipped"].dump(), "tokenizer")) << results["skipped"];
  // Another text replaces the skipped entries, too.
  server.finished(server.start("/api/attention", {{"tokens", "1,2,3"}}));
  const json after = server.get("/api/results");
  EXPECT_EQ(after["reports"].size(), 8u);  // all four sections for both models
  EXPECT_EQ(after["skipped"], json::array());
}

}  // namespace
}  // namespace attnscope::test
