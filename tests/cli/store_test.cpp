// --store and export: the same bytes as without, nothing computed twice, and no row that is wrong.
#include <unistd.h>

#include <fstream>
#include <map>

#include "attnscope/store/digests.h"
#include "tests/cli/command_line.h"
#include "tests/support/sqlite_query.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2, kIo = 3, kBadFile = 4, kUnsupported = 5;

class CliStore : public testing::Test {
 protected:
  std::string store() const { return (folder_.path() / "rows.sqlite").string(); }
  Words stored(const Words& command) const { return command + Words{"--store", store()}; }
  long number(const std::string& sql) const { return query_number(store(), sql); }
  long items() const { return number("SELECT count(*) FROM items"); }
  /// What the last run computed.
  long computed() const { return number("SELECT computed FROM runs ORDER BY id DESC LIMIT 1"); }
  std::string exported(const Words& options = {}) const {
    return output_of(Words{"export", store()} + options);
  }

  /// The command prints the same with a store as without, and computes `count` items.
  void expect_computed(const Words& command, long count) const {
    SCOPED_TRACE(command_text(command));
    const std::string plain = output_of(command);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(computed(), count);
  }

  TempFolder folder_;
};

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
  for (const std::string view : {"spectrum", "mla", "circuits", "composition", "weights",
                                 "similarity", "head_overlap", "head_matrix", "sources"}) {
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

TEST_F(CliStore, WhatWouldBeRefusedIsNotFound) {
  TinyLlama model(1);
  model.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "F8_E4M3", 8, {16, 16});
  const Words command = {"spectrum", model.write(folder_, "model"), "--matrix", "q"};
  expect_computed(command, 1);
  model.tensors.push_back(
      counting_tensor(TinyLlama::attention_name(0, 'q') + "_scale_inv", {1, 1}));
  model.write(folder_, "model");
  expect_refusal(stored(command), kUnsupported, {"_scale_inv"});
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
  expect_refusal({"export", store()}, kUsage, {"--command", "1: spectrum", "2: weights"});
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
  expect_refusal({"export", store()}, kUsage, {"1: spectrum", "2: spectrum revision"});
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

// ---- Files that are no store, or a broken one ---------------------------------------------------

TEST_F(CliStore, RefusesWhatIsNoStore) {
  const std::string llama = data_path("llama");
  query(folder_.path() / "foreign", "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  query(folder_.path() / "numbered", "PRAGMA user_version = 1");
  folder_.write("text", "model,layer\n");
  folder_.write("long text", std::string(100'000, 'x'));
  fs::copy(data_path("gpt2") + "/model.safetensors", folder_.path() / "weights");
  for (const std::string name : {"foreign", "numbered", "text", "long text", "weights"}) {
    SCOPED_TRACE(name);
    const std::string path = (folder_.path() / name).string(), before = read_file(path);
    expect_refusal({"spectrum", llama, "--store", path}, kBadFile, {path, "name another file"});
    expect_refusal({"export", path}, kBadFile, {path});
    EXPECT_EQ(read_file(path), before);
  }
  folder_.write("empty", "");  // as mktemp makes it
  const std::string empty = (folder_.path() / "empty").string();
  EXPECT_EQ(output_of({"spectrum", llama, "--store", empty}), output_of({"spectrum", llama}));
}

TEST_F(CliStore, RefusesStoresOfOtherVersions) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  for (const auto& [version, advice] :
       std::map<std::string, std::string>{{"1", "computed again"}, {"3", "update attnscope"}}) {
    SCOPED_TRACE(version);
    query(store(), "PRAGMA user_version = " + version);
    const std::string before = read_file(store());
    expect_refusal(stored(command), kUnsupported, {store(), "version " + version, advice});
    expect_refusal({"export", store()}, kUnsupported, {store()});
    EXPECT_EQ(read_file(store()), before);
  }
}

TEST_F(CliStore, PlacesThatCannotBeWritten) {
  const std::string llama = data_path("llama"), root = folder_.path().string();
  Words paths = {root, root + "/absent/rows.sqlite"};
  if (fs::exists("/proc/self")) paths.push_back("/proc/rows.sqlite");
  for (const std::string& path : paths) {
    expect_refusal({"spectrum", llama, "--store", path}, kIo, {path});
    expect_refusal({"export", path}, kIo, {path});
  }
  expect_refusal({"spectrum", llama, "--store", store(), "--out", store()}, kUsage, {"--out"});
  expect_refusal({"spectrum", llama + "-absent", "--store", store()}, kIo, {"absent"});
  EXPECT_FALSE(fs::exists(store())) << "made for nothing";
}

TEST_F(CliStore, AStoreThatMayOnlyBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  fs::permissions(store(), fs::perms::owner_read);
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_refusal(stored(command), kIo, {store()});
  EXPECT_EQ(exported(), plain);
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(CliStore, AFullDiskIsAnErrorAndFinishedRowsStay) {
  const Words command = {"spectrum", TinyLlama(20).write(folder_, "model"), "--values"};
  const std::string plain = output_of(command);
  output_of(stored(command));
  const auto whole = fs::file_size(store());
  fs::remove(store());
  for (const std::uint64_t limit : {whole / 4, whole / 2, whole * 3 / 4}) {
    // As though the disk had so much room: neither the file nor its log may grow further.
    const RunResult run = run_attnscope(stored(command), {.file_limit_bytes = limit});
    EXPECT_EQ(run.exit_code, kIo) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_TRUE(contains(run.err, store())) << run.err;
    EXPECT_TRUE(contains(run.err, "room")) << run.err;
  }
  const long kept = items();
  EXPECT_GT(kept, 0);
  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), 140 - kept);
  EXPECT_EQ(number("SELECT sum(computed) FROM runs"), 140);
}

TEST_F(CliStore, DamagedRowsAreRefused) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  const std::string sound = read_file(store());
  const struct {
    std::string fault, sql;
    bool run_refuses;
  } faults[] = {
      {"a measure that changed",
       "UPDATE outcomes SET fields = replace(fields, 'stable_rank\":', 'stable_rank\":1')", true},
      {"no JSON", "UPDATE outcomes SET fields = '{' WHERE item = 1", true},
      {"a list", "UPDATE outcomes SET fields = '[]' WHERE item = 1", true},
      {"bytes", "UPDATE outcomes SET fields = x'00ff' WHERE item = 1", true},
      {"an outcome that is gone", "DELETE FROM outcomes WHERE item = 1", true},
      {"a head that appeared", "UPDATE outcomes SET head = 1 WHERE item = 1", true},
      {"another item's digest", "UPDATE items SET digest = 'x'", true},
      {"a table that is gone", "DROP TABLE place_tensors", true},
      {"another table", "ALTER TABLE items ADD COLUMN extra", true},
      {"a view for a table", "DROP TABLE outcomes; CREATE VIEW outcomes AS SELECT 1 AS item", true},
      {"no version", "PRAGMA user_version = 0", true},
      {"a layer that changed", "UPDATE places SET layer = 9 WHERE layer = 1", false},
      {"a matrix that changed", "UPDATE places SET matrix = 'k' || id WHERE matrix = 'q'", false},
      {"facts that changed", "UPDATE analysed_models SET facts = replace(facts, 'llama', 'gpt2')",
       false},
      {"another name", "UPDATE analysed_models SET name = 'gpt2'", false},
      {"a run that asked for more", "UPDATE runs SET parameters = '{}'", false},
      {"an item that is gone", "DELETE FROM items WHERE id = 1", false},
      {"a run that is gone", "DELETE FROM runs", false},
      {"a model that is gone", "DELETE FROM models", false},
      {"a model's facts that are gone", "DELETE FROM analysed_models", false},
      {"a set that is gone", "DELETE FROM analyses", false},
      {"another set's name", "UPDATE analyses SET command = 'weights'", true},
  };
  const std::string plain = output_of(command);
  for (const auto& [fault, sql, run_refuses] : faults) {
    SCOPED_TRACE(fault);
    std::ofstream(store(), std::ios::binary) << sound;
    query(store(), "PRAGMA foreign_keys = OFF; " + sql);
    expect_refusal({"export", store()}, kBadFile, {store(), "damaged"});
    if (run_refuses) {
      expect_refusal(stored(command), kBadFile, {store(), "damaged"});
    } else {
      EXPECT_EQ(output_of(stored(command)), plain);
    }
  }
}

TEST_F(CliStore, ViewsAreThoseOfWhoeverWroteLast) {
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  const std::string views = "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name";
  const auto own = query(store(), views);
  // As a program with other measures would leave it, with what a user added.
  query(store(),
        "DROP VIEW spectrum; CREATE VIEW spectrum AS SELECT 1; DROP VIEW stored_rows; "
        "DROP VIEW mla; CREATE TABLE mla (x); CREATE VIEW zz AS SELECT 7 AS seven");
  const std::string before = read_file(store());
  EXPECT_EQ(exported(), plain);
  EXPECT_EQ(read_file(store()), before) << "reading changes nothing";
  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), 0);
  EXPECT_EQ(number("SELECT seven FROM zz"), 7);
  EXPECT_EQ(number("SELECT count(*) FROM mla"), 0) << "a user's table stays";
  query(store(), "DROP VIEW zz; DROP TABLE mla");
  output_of(stored(command));
  EXPECT_EQ(query(store(), views), own);
}

TEST_F(CliStore, AStoreOfAnEarlierProgramIsReadAndCompleted) {
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  // What has been added to the schema since its version was last raised.
  query(store(), "DROP INDEX place_by_run; DROP INDEX model_by_description");
  EXPECT_EQ(exported(), plain);
  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name IN "
                   "('place_by_run', 'model_by_description')"),
            2);
}

TEST_F(CliStore, TriggersDoNotRun) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  query(store(), "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END");
  output_of(stored({"spectrum", data_path("gpt2")}));
  output_of(stored(command));
  EXPECT_EQ(computed(), 0);
}

TEST_F(CliStore, ADamagedFileGivesTheRightRowsOrAnError) {
  const Words command = {"spectrum", data_path("llama"), "--format", "json"};
  const std::string plain = output_of(stored(command)), sound = read_file(store());
  const std::size_t page = 4096;
  std::vector<std::pair<std::string, std::string>> broken;
  for (const std::size_t size : {std::size_t{50}, std::size_t{1000}, page, 3 * page,
                                 sound.size() / 2, sound.size() - page, sound.size() - 1}) {
    broken.emplace_back("cut to " + std::to_string(size), sound.substr(0, size));
  }
  std::mt19937_64 random(1);
  for (int time = 0; time < 20; ++time) {
    const std::size_t at = random() % sound.size(), length = 1 + random() % 200;
    std::string bytes = sound;
    for (std::size_t byte = at; byte < std::min(at + length, bytes.size()); ++byte) {
      bytes[byte] = static_cast<char>(time % 2 == 0 ? 0 : random());
    }
    broken.emplace_back("bytes from " + std::to_string(at), bytes);
  }
  int refused = 0;
  for (const auto& [fault, bytes] : broken) {
    SCOPED_TRACE(fault);
    for (const Words& asked : {Words{"export", store(), "--format", "json"}, stored(command)}) {
      std::ofstream(store(), std::ios::binary) << bytes;
      const RunResult run = run_attnscope(asked);
      EXPECT_EQ(run.signal, 0);
      if (run.exit_code == 0) {
        EXPECT_EQ(run.out, plain);
        continue;
      }
      ++refused;
      EXPECT_TRUE(run.exit_code == kBadFile || run.exit_code == kUsage ||
                  run.exit_code == kUnsupported || run.exit_code == kIo)
          << run.err;
      EXPECT_EQ(run.out, "");
      EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    }
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace attnscope::test
