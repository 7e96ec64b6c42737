// --store and export: the same bytes as without, nothing computed twice, and no row that is wrong.
#include "attnscope/core/text.h"
#include "attnscope/store/digests.h"
#include "tests/cli/attention_model.h"
#include "tests/cli/store_command.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST_F(CliStore, EveryCommandPrintsTheSameBytesFreshFoundAndExported) {
  const std::string llama = data_path("llama"), gpt2 = data_path("gpt2"), qwen = data_path("qwen2"),
                    albert = data_path("albert");
  const Words commands[] = {
      {"spectrum", llama, gpt2, "--per-head"},
      {"spectrum", albert, "--matrix", "o,q,qk,kv", "--values", "--rank", "3,0.5D"},
      {"spectrum", llama, "--layers", "-1", "--energy", "0.5"},
      {"spectrum", llama, qwen, "--mla"},
      {"spectrum", llama, "--tensor", "lm_head.weight"},
      {"circuits", llama, gpt2},
      {"circuits", qwen, "--with-bias", "--fold-norm", "--rope-offset", "-1", "--circuit", "qk"},
      {"circuits", llama, gpt2, "--composition"},
      {"weights", gpt2, "--per-head", "--histogram"},
      {"weights", llama, "--histogram", "--bins", "fd", "--matrix", "v,gate"},
      {"similarity", llama, gpt2, "--histogram"},
      {"similarity", llama, "--overlap"},
      {"similarity", llama, "--head-matrix", "0,1", "--matrix", "q"},
  };
  for (const Words& command : commands) {
    SCOPED_TRACE(command_text(command));
    fs::remove(store());
    for (const std::string format : {"json", "csv", "table"}) {
      const Words asked = command + Words{"--format", format};
      const std::string plain = output_of(asked);
      EXPECT_EQ(output_of(stored(asked)), plain);
      EXPECT_EQ(exported({"--format", format}), plain);
    }
    // Three runs, of which the first computed everything.
    EXPECT_GT(items(), 0);
    EXPECT_EQ(number("SELECT computed FROM runs WHERE id = 1"), items());
    EXPECT_EQ(number("SELECT sum(computed) FROM runs"), items());
    EXPECT_EQ(number("SELECT count(*) FROM runs WHERE found = (SELECT count(*) FROM items)"), 2);
  }
}

TEST_F(CliStore, AllCommandsShareOneStore) {
  const std::string llama = data_path("llama");
  const Words commands[] = {{"spectrum", llama},
                            {"spectrum", llama, "--mla"},
                            {"circuits", llama},
                            {"circuits", llama, "--composition"},
                            {"weights", llama},
                            {"similarity", llama},
                            {"similarity", llama, "--overlap"},
                            {"similarity", llama, "--head-matrix", "0,1"}};
  for (const Words& command : commands) output_of(stored(command));
  long set = 0;
  for (const Words& command : commands) {
    EXPECT_EQ(exported({"--set", std::to_string(++set)}), output_of(command));
  }
  const std::string forward = data_path("forward/gpt2");
  output_of(stored({"attention", forward, "--tokens", "3,1,4,1,5"}));
  output_of(stored({"attention", forward, "--induction", "--length", "8"}));
  for (const std::string view :
       {"spectrum", "mla", "circuits", "composition", "weights", "similarity", "head_overlap",
        "head_matrix", "attention", "attention_maps", "induction", "sources"}) {
    EXPECT_GT(number("SELECT count(*) FROM " + view), 0) << view;
  }
}

TEST_F(CliStore, ViewsHoldTheRows) {
  const Words command = {"spectrum", data_path("llama"), data_path("gpt2"), "--per-head"};
  const json report = json::parse(output_of(stored(command + Words{"--format", "json"})));
  const auto rows = query(store(),
                          "SELECT model, layer, matrix, ifnull(head, ''), "
                          "\"energy_rank_0.9\", possible_rank, shape_0 FROM spectrum");
  ASSERT_EQ(rows.size(), report["rows"].size());
  for (const auto& row : rows) {
    const bool found =
        std::any_of(report["rows"].begin(), report["rows"].end(), [&](const json& wanted) {
          const json& head = wanted["head"];
          return wanted["model"] == row[0] && wanted["layer"].dump() == row[1] &&
                 wanted["matrix"] == row[2] && (head.is_null() ? "" : head.dump()) == row[3] &&
                 wanted["energy_rank"]["0.9"].dump() == row[4] &&
                 wanted["possible_rank"].dump() == row[5] && wanted["shape"][0].dump() == row[6];
        });
    EXPECT_TRUE(found) << row[0] << " " << row[1] << " " << row[2] << " " << row[3];
  }
  output_of(stored({"circuits", data_path("llama")}));
  output_of(stored({"weights", data_path("llama")}));
  output_of(stored({"similarity", data_path("llama")}));
  for (const std::string column :
       {"circuits.identity_cosine", "weights.\"quantiles_0.5\"", "similarity.mean",
        "circuits.\"energy_rank_0.99\"", "sources.hash"}) {
    const std::string view = column.substr(0, column.find('.'));
    EXPECT_GT(number("SELECT count(" + column + ") FROM " + view), 0) << column;
  }
}

/// The means of a view are those that the command prints, to rounding.
void expect_means(const json& rows, const std::vector<std::vector<std::string>>& of_view,
                  const Words& fields) {
  std::size_t found = 0;
  for (const json& row : rows) {
    for (const auto& cells : of_view) {
      const std::string head = row["head"].is_null() ? "" : row["head"].dump();
      if (cells[0] != row["layer"].dump() || cells[1] != head) continue;
      ++found;
      for (std::size_t at = 0; at < fields.size(); ++at) {
        if (!row.contains(fields[at])) continue;
        EXPECT_NEAR(std::stod(cells[2 + at]), row[fields[at]].get<double>(), 1e-12) << fields[at];
      }
    }
  }
  EXPECT_EQ(found, rows.size());
  EXPECT_EQ(found, of_view.size());
}

TEST_F(CliStore, ViewsOfAttentionHoldTheMeans) {
  const std::string shard = folder_.write("t.bin", shard_bytes(random_tokens(1200, 48))).string();
  // Windows of 8: two batches.
  const Words windows = {"--token-file", shard, "--length", "8", "--sequences", "70"};
  const Words command = Words{"attention", tiny_model("gpt2"), "--format", "json"} + windows;
  const json rows = json::parse(output_of(stored(command)))["rows"];
  EXPECT_GT(items(), 1);
  const Words fields = {"sequences",     "energy_rank",   "columns",        "first_column_share",
                        "entropy",       "sink_mass",     "previous_token", "diagonal",
                        "mean_distance", "mean_max_rank", "mean_columns"};
  expect_means(rows, query(store(), "SELECT layer, head, " + join(fields) + " FROM attention"),
               fields);
  EXPECT_EQ(number("SELECT count(DISTINCT sequence) FROM attention_maps"), 70);
  EXPECT_EQ(number("SELECT max(sequence) FROM attention_maps"), 69);
  const Words induction = {"attention", tiny_model("gpt2"), "--induction", "--length",
                           "8",         "--format",         "json"};
  const Words scores = {"induction", "duplicate_token"};
  const json scored = json::parse(output_of(stored(induction)))["rows"];
  expect_means(scored, query(store(), "SELECT layer, head, " + join(scores) + " FROM induction"),
               scores);
}

TEST_F(CliStore, AMeasureThatATextHasNotIsNull) {
  output_of(stored({"attention", tiny_model("gpt2"), "--tokens", "3"}));
  EXPECT_EQ(number("SELECT count(*) FROM attention WHERE head IS NOT NULL"),
            number("SELECT count(*) FROM attention WHERE previous_token IS NULL AND head >= 0"));
}

TEST_F(CliStore, QueriesOfTheDocumentationRunAndRankNoNull) {
  TinyLlama broken(2);
  set_element(broken.attention(0, 'k'), 0, 0, std::numeric_limits<float>::quiet_NaN());
  const std::string nan = broken.write(folder_, "nan"), llama = data_path("llama");
  output_of(stored({"spectrum", nan, llama}));
  output_of(stored({"spectrum", llama, "--energy", "0.5"}));
  output_of(stored({"circuits", nan, llama}));
  output_of(stored({"attention", tiny_model("gpt2"), "--tokens", "3,1,4"}));
  const std::string text = read_file(source_path("docs/store.md"));
  const std::size_t begin = text.find("```sql\n") + 7;
  std::string block = text.substr(begin, text.find("```", begin) - begin);
  int queries = 0;
  for (std::size_t end = block.find(";\n"); end != std::string::npos; end = block.find(";\n")) {
    const std::string sql = block.substr(0, end);
    block.erase(0, end + 2);
    const auto rows = query(store(), sql);
    ASSERT_FALSE(rows.empty()) << sql;
    ++queries;
    if (!contains(sql, "ORDER BY")) continue;
    EXPECT_NE(rows.front().back(), "") << sql;
  }
  EXPECT_GE(queries, 6);
}

// ---- What identifies an item --------------------------------------------------------------------

TEST_F(CliStore, OnlyAChangedTensorIsComputedAnew) {
  TinyLlama model(2);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 14);
  set_element(model.attention(1, 'v'), 0, 0, 7);
  model.write(folder_, "model");
  expect_computed({"spectrum", path}, 1);
  EXPECT_EQ(exported(), output_of({"spectrum", path})) << "the old rows have left the views";
}

TEST_F(CliStore, AChangeThatKeepsSizeAndTimeIsSeen) {
  TinyLlama model(1);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 7);
  const fs::path weights = fs::path(path) / "model.safetensors";
  const auto time = fs::last_write_time(weights);
  set_element(model.attention(0, 'q'), 0, 0, 7);
  model.write(folder_, "model");
  fs::last_write_time(weights, time);
  expect_computed({"spectrum", path}, 1);
}

TEST_F(CliStore, TheSameContentIsFoundWhereverItLies) {
  const TinyLlama model(2);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 14);
  fs::last_write_time(fs::path(path) / "model.safetensors", fs::file_time_type::clock::now());
  expect_computed({"spectrum", path}, 0);
  const std::string copy = model.write(folder_, "copy");
  expect_computed({"spectrum", copy}, 0);
  expect_computed({"spectrum", path, copy}, 0);
  EXPECT_EQ(exported(), output_of({"spectrum", path, copy}));
}

TEST_F(CliStore, EqualContentOfOneRunIsComputedOnce) {
  const TinyLlama model(2);
  expect_computed({"spectrum", model.write(folder_, "a"), model.write(folder_, "b")}, 14);
}

TEST_F(CliStore, WhatDecidesTheNumbersIsPartOfTheItem) {
  const std::string path = TinyLlama(2).write(folder_, "model");
  const Words spectrum = {"spectrum", path, "--matrix", "q,k"};
  expect_computed(spectrum, 4);
  expect_computed(spectrum + Words{"--layers", "0", "--threads", "1", "--format", "csv"}, 0);
  expect_computed({"spectrum", path, "--matrix", "k,q,v"}, 2);
  for (const Words& option : {Words{"--energy", "0.5"}, Words{"--per-head"}, Words{"--values"},
                              Words{"--rank", "3"}, Words{"--rank", "0.1D"}}) {
    expect_computed(spectrum + option, 4);
  }
  const Words weights = {"weights", path, "--matrix", "q"};
  for (const Words& option :
       {Words{}, Words{"--histogram"}, Words{"--histogram", "--bins", "7"},
        Words{"--histogram", "--range", "-1,1"}, Words{"--histogram", "--bins", "fd"}}) {
    expect_computed(weights + option, 2);
  }
}

TEST_F(CliStore, TheVariantOfACircuitIsPartOfTheItem) {
  TinyLlama model(2);
  for (int layer = 0; layer < 2; ++layer) {
    model.tensors.push_back(random_tensor(
        "model.layers." + std::to_string(layer) + ".input_layernorm.weight", {16}, 90 + layer));
  }
  const auto changed = [&](const Words& options, long count) {
    expect_computed(Words{"circuits", model.write(folder_, "model")} + options, count);
  };
  changed({}, 4);
  changed({"--fold-norm"}, 4);
  changed({"--rope-offset", "-1"}, 4);
  set_element(model.attention(0, 'q'), 0, 0, 7);
  changed({}, 1);
  TensorToWrite& gain = model.tensor("model.layers.1.input_layernorm.weight");
  const float twice = 2;
  std::memcpy(gain.bytes.data(), &twice, sizeof twice);
  changed({"--fold-norm"}, 3);  // both circuits of layer 1, and qk of layer 0
  changed({}, 0);
  model.config["rope_theta"] = 500.0;
  changed({"--rope-offset", "-1"}, 2);  // qk of both layers
  changed({}, 0);
}

TEST_F(CliStore, HowATensorIsCutIsPartOfTheItem) {
  TinyLlama model(1);
  const Words options = {"--matrix", "q", "--per-head"};
  expect_computed(Words{"spectrum", model.write(folder_, "model")} + options, 1);
  model.config["num_attention_heads"] = 2;
  model.config["head_dim"] = 8;
  model.config["num_key_value_heads"] = 1;
  expect_computed(Words{"spectrum", model.write(folder_, "model")} + options, 1);
}

TEST_F(CliStore, AScaleBesideAWeightMakesItAnotherOne) {
  TinyLlama model(1);
  model.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "F8_E4M3", 8, {16, 16});
  const Words command = {"spectrum", model.write(folder_, "model"), "--matrix", "q"};
  expect_computed(command, 1);
  model.tensors.push_back(
      counting_tensor(TinyLlama::attention_name(0, 'q') + "_scale_inv", {1, 1}));
  model.write(folder_, "model");
  expect_computed(command, 1);
}

TEST_F(CliStore, SkippedMatricesAndNotesComeBack) {
  TinyLlama model(2);
  set_element(model.attention(0, 'q'), 1, 2, std::numeric_limits<float>::quiet_NaN());
  const std::string path = model.write(folder_, "model");
  for (const std::string format : {"json", "csv", "table"}) {
    const Words command = {"spectrum", path, "--per-head", "--format", format};
    const std::string plain = output_of(command);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(exported({"--format", format}), plain);
  }
  // A note goes to stderr each time.
  const Words fd = {"weights", path, "--matrix", "v", "--histogram", "--bins", "fd"};
  const RunResult plain = run_attnscope(fd);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(run_attnscope(stored(fd)).err, plain.err);
}

TEST_F(CliStore, ProvenanceNamesFileTensorHashAndVersion) {
  const std::string path = TinyLlama(1).write(folder_, "model");
  output_of(stored({"spectrum", path, "--matrix", "q"}));
  const auto rows =
      query(store(), "SELECT file, bytes, tensor, length(hash), version FROM sources");
  ASSERT_EQ(rows.size(), 1u);
  const fs::path weights = fs::canonical(fs::path(path) / "model.safetensors");
  EXPECT_EQ(rows[0][0], weights.string());
  EXPECT_EQ(rows[0][1], std::to_string(fs::file_size(weights)));
  EXPECT_EQ(rows[0][2], TinyLlama::attention_name(0, 'q'));
  EXPECT_EQ(rows[0][3], "32");
  EXPECT_EQ("attnscope " + rows[0][4] + "\n", output_of({"--version"}));
}

// ---- export -------------------------------------------------------------------------------------

TEST_F(CliStore, ExportAsksWhichOfSeveralSets) {
  const std::string llama = data_path("llama");
  output_of(stored({"spectrum", llama}));
  output_of(stored({"weights", llama}));
  for (const char* format : {"csv", "json"}) {  // scripts get no list in place of rows
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

TEST_F(CliStore, ExportListsWhatThereIs) {
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
    // What it says of rows is what export prints.
    const json report =
        json::parse(exported({"--set", row["set"].dump(), "--model",
                              row["model"].get<std::string>(), "--format", "json"}));
    EXPECT_EQ(report["command"], row["command"]);
    EXPECT_EQ(report["rows"].size(), row["rows"]);
    EXPECT_EQ(report["skipped"].size(), row["left_out"]);
    EXPECT_EQ(json::parse(row["parameters"].get<std::string>()), report["parameters"]);
    EXPECT_LE(row["finished"].get<std::string>(), now);
  }
  EXPECT_EQ(list["rows"][1]["left_out"], 2) << "a matrix and its head";
  EXPECT_EQ(list["rows"][2]["analysis"], "mla");

  // A table is the list where several sets are there and none is named.
  EXPECT_EQ(exported(), exported({"--list"}));
  EXPECT_TRUE(contains(exported(), "spectrum: mla")) << exported();
  EXPECT_TRUE(contains(exported(), "energy 0.9,0.99; per_head")) << exported();
  expect_refusal({"export", store(), "--list", "--set", "1"}, kUsage, {"--list", "--set"});
}

TEST_F(CliStore, ExportListsRowsThatStandSomewhere) {
  TinyLlama model(1);
  const std::string path = model.write(folder_, "model");
  output_of(stored({"spectrum", path}));
  output_of(stored({"weights", path}));
  set_element(model.attention(0, 'q'), 0, 0, 7);
  model.write(folder_, "model");
  output_of(stored({"spectrum", path}));  // takes the old file's rows out
  const json rows = json::parse(exported({"--list", "--format", "json"}))["rows"];
  ASSERT_EQ(rows.size(), 1u) << rows;
  EXPECT_EQ(rows[0]["command"], "spectrum");
}

TEST_F(CliStore, ExportOfOneModel) {
  const std::string llama = data_path("llama"), gpt2 = data_path("gpt2");
  output_of(stored({"spectrum", llama, gpt2}));
  EXPECT_EQ(exported({"--model", "gpt2"}), output_of({"spectrum", gpt2}));
  expect_refusal({"export", store(), "--model", "gpt"}, kUsage, {"'gpt2'", "llama"});
}

TEST_F(CliStore, ExportPutsRunsTogether) {
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

TEST_F(CliStore, ExportTellsModelsOfOneNameApart) {
  const std::string a = TinyLlama(1, 1).write(folder_, "a/model");
  const std::string b = TinyLlama(1, 2).write(folder_, "b/model");
  output_of(stored({"spectrum", a, "--matrix", "q"}));
  output_of(stored({"spectrum", b, "--matrix", "q"}));
  const json rows = json::parse(exported({"--format", "json"}))["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(contains(rows[0]["model"].get<std::string>(), "a/model")) << rows;
  EXPECT_TRUE(contains(rows[1]["model"].get<std::string>(), "b/model")) << rows;
}

TEST_F(CliStore, RowsOfAnOlderRevisionStayUntilTheyAreAskedForAgain) {
  const Words command = {"spectrum", data_path("llama"), "--format", "csv"};
  const std::string plain = output_of(stored(command));
  const long all = items();
  // As an attnscope that counted otherwise would have left it.
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

TEST_F(CliStore, ExportChangesNothing) {
  output_of(stored({"spectrum", data_path("llama")}));
  const std::string before = read_file(store());
  exported();
  EXPECT_EQ(read_file(store()), before);
  EXPECT_EQ(files_in(folder_.path()), Words{"rows.sqlite"});
}

}  // namespace
}  // namespace attnscope::test
