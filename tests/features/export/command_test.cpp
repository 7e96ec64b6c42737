// `export`: the rows of a store, as printed by the runs that filled it.
#include "attnscope/engine/store/digests.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/store_command.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TEST_F(CliStore, ExportNeedsASelectionAmongSeveralSets) {
  const std::string llama = data_path("llama");
  output_of(stored({"spectrum", llama}));
  output_of(stored({"weights", llama}));
  // In these formats, scripts get an error, not a list.
  for (const char* format : {"csv", "json"}) {
    expect_refusal({"export", store(), "--format", format}, kUsage,
                   {"--command", "--list", "1: spectrum", "2: weights"});
  }
  EXPECT_EQ(exported({"--command", "weights"}), output_of({"weights", llama}));
  output_of(stored({"spectrum", llama, "--energy", "0.5"}));
  expect_refusal({"export", store(), "--command", "spectrum"}, kUsage,
                 {"--set", "1: spectrum", "3: spectrum", "0.5"});
  EXPECT_EQ(exported({"--set", "3"}), output_of({"spectrum", llama, "--energy", "0.5"}));
  expect_refusal({"export", store(), "--command", "spectrm"}, kUsage, {"'spectrum'", "weights"});
  expect_refusal({"export", store(), "--set", "9"}, kUsage, {"9", "1: spectrum"});
  expect_refusal({"export", store(), "--set", "one"}, kUsage, {"--set"});
  expect_refusal({"export"}, kUsage, {"STORE"});
}

TEST_F(CliStore, ExportListsTheSets) {
  TinyLlama broken(2);
  set_element(broken.attention(0, 'q'), 0, 0, std::numeric_limits<float>::quiet_NaN());
  const std::string llama = data_path("llama"), nan = broken.write(folder_, "nan");
  const Words runs[] = {{"spectrum", llama, nan, "--per-head", "--quiet"},
                        {"spectrum", llama, "--mla"},
                        {"similarity", llama, "--layers", "1"},
                        {"attention", tiny_model("gpt2"), "--tokens", "3,1,4"}};
  for (const Words& run : runs) output_of(stored(run));
  const json list = json::parse(exported({"--list", "--format", "json"}));
  EXPECT_EQ(list["command"], "export");
  EXPECT_EQ(list["parameters"], json({{"list", true}}));
  ASSERT_EQ(list["rows"].size(), 5u);
  const std::string now = query(store(), "SELECT max(finished) FROM runs")[0][0];
  for (const json& row : list["rows"]) {
    // The row counts in the list equal the rows that export prints.
    const json report =
        json::parse(exported({"--set", row["set"].dump(), "--model",
                              row["model"].get<std::string>(), "--format", "json"}));
    EXPECT_EQ(report["command"], row["command"]);
    EXPECT_EQ(report["rows"].size(), row["rows"]);
    EXPECT_EQ(report["skipped"].size(), row["skipped"]);
    EXPECT_EQ(json::parse(row["parameters"].get<std::string>()), report["parameters"]);
    EXPECT_LE(row["finished"].get<std::string>(), now);
  }
  EXPECT_EQ(list["rows"][1]["skipped"], 2) << "a matrix and its head";
  EXPECT_EQ(list["rows"][2]["analysis"], "mla");

  // The table format prints the list if there are several sets and none is selected.
  EXPECT_EQ(exported(), exported({"--list"}));
  EXPECT_TRUE(contains(exported(), "spectrum: mla")) << exported();
  EXPECT_TRUE(contains(exported(), "energy 0.9,0.99; per_head")) << exported();
  expect_refusal({"export", store(), "--list", "--set", "1"}, kUsage, {"--list", "--set"});
}

TEST_F(CliStore, ExportListsOnlySetsWithRows) {
  TinyLlama model(1);
  const std::string path = model.write(folder_, "model");
  output_of(stored({"spectrum", path}));
  output_of(stored({"weights", path}));
  set_element(model.attention(0, 'q'), 0, 0, 7);
  model.write(folder_, "model");
  output_of(stored({"spectrum", path}));  // removes the rows of the old file
  const json rows = json::parse(exported({"--list", "--format", "json"}))["rows"];
  ASSERT_EQ(rows.size(), 1u) << rows;
  EXPECT_EQ(rows[0]["command"], "spectrum");
}

TEST_F(CliStore, ExportSelectsOneModel) {
  const std::string llama = data_path("llama"), gpt2 = data_path("gpt2");
  output_of(stored({"spectrum", llama, gpt2}));
  EXPECT_EQ(exported({"--model", "gpt2"}), output_of({"spectrum", gpt2}));
  expect_refusal({"export", store(), "--model", "gpt"}, kUsage, {"'gpt2'", "llama"});
}

TEST_F(CliStore, ExportMergesRuns) {
  const std::string llama = data_path("llama"), gpt2 = data_path("gpt2");
  output_of(stored({"spectrum", llama, "--layers", "1", "--matrix", "k,q"}));
  output_of(stored({"spectrum", llama, "--layers", "0", "--matrix", "q,k"}));
  output_of(stored({"spectrum", gpt2, "--layers", "0,1", "--matrix", "q,k"}));
  const json together = json::parse(exported({"--format", "json"}));
  const json at_once = report_of({"spectrum", llama, gpt2, "--layers", "0,1", "--matrix", "q,k"});
  EXPECT_EQ(together["rows"], at_once["rows"]);
  EXPECT_EQ(together["models"], at_once["models"]);
  EXPECT_EQ(together["parameters"]["energy"], at_once["parameters"]["energy"]);
  EXPECT_EQ(together["parameters"]["layers"], nullptr);
  EXPECT_EQ(together["parameters"]["matrix"], nullptr);
}

TEST_F(CliStore, ExportDistinguishesModelsOfTheSameName) {
  const std::string a = TinyLlama(1, 1).write(folder_, "a/model");
  const std::string b = TinyLlama(1, 2).write(folder_, "b/model");
  output_of(stored({"spectrum", a, "--matrix", "q"}));
  output_of(stored({"spectrum", b, "--matrix", "q"}));
  const json rows = json::parse(exported({"--format", "json"}))["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(contains(rows[0]["model"].get<std::string>(), "a/model")) << rows;
  EXPECT_TRUE(contains(rows[1]["model"].get<std::string>(), "b/model")) << rows;
}

TEST_F(CliStore, RowsOfAnOlderRevisionStayUntilRecomputed) {
  const Words command = {"spectrum", data_path("llama"), "--format", "csv"};
  const std::string plain = output_of(stored(command));
  const long all = items();
  // As written by a version with another analysis revision.
  const auto row = query(store(), "SELECT name, command, parameters FROM analyses").at(0);
  const StoredAnalysis older{.name = row[0], .revision = 0, .command = row[1]};
  query(store(),
        "UPDATE analyses SET revision = 0, digest = '" + analysis_digest(older, row[2]) + "'");
  EXPECT_EQ(exported({"--format", "csv"}), plain);

  const Words first_layer = command + Words{"--layers", "0"};
  EXPECT_EQ(output_of(stored(first_layer)), output_of(first_layer));
  EXPECT_EQ(computed(), all / 2) << "what was asked for is computed again, and no more";
  expect_refusal({"export", store(), "--format", "csv"}, kUsage,
                 {"1: spectrum", "2: spectrum revision"});
  EXPECT_EQ(exported({"--set", "1", "--format", "csv"}),
            output_of(command + Words{"--layers", "1"}));
  EXPECT_EQ(exported({"--set", "2", "--format", "csv"}), output_of(first_layer));
  EXPECT_EQ(number("SELECT count(DISTINCT layer) FROM spectrum"), 2);

  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), all - all / 2);
  EXPECT_EQ(exported({"--format", "csv"}), plain) << "one set again";
}

TEST_F(CliStore, ExportDoesNotChangeTheStore) {
  output_of(stored({"spectrum", data_path("llama")}));
  const std::string before = read_file(store());
  exported();
  EXPECT_EQ(read_file(store()), before);
  EXPECT_EQ(files_in(folder_.path()), Words{"rows.sqlite"});
}

}  // namespace
}  // namespace attnscope::test
