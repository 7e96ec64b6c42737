// Files that are not a store, are damaged, or were written by another program.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <random>

#include "attnscope/engine/store/store.h"
#include "tests/support/store_command.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST_F(CliStore, RejectsFilesThatAreNotAStore) {
  const std::string llama = data_path("llama");
  query(folder_.path() / "foreign", "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  query(folder_.path() / "numbered", "PRAGMA user_version = 1");
  folder_.write("text", "model,layer\n");
  folder_.write("long text", std::string(100'000, 'x'));
  fs::copy(data_path("gpt2") + "/model.safetensors", folder_.path() / "weights");
  for (const std::string name : {"foreign", "numbered", "text", "long text", "weights"}) {
    SCOPED_TRACE(name);
    const std::string path = (folder_.path() / name).string(), before = read_file(path);
    expect_refusal({"spectrum", llama, "--store", path}, kBadFile, {path, "pass another file"});
    expect_refusal({"export", path}, kBadFile, {path});
    EXPECT_EQ(read_file(path), before);
  }
  folder_.write("empty", "");  // as created by mktemp
  const std::string empty = (folder_.path() / "empty").string();
  EXPECT_EQ(output_of({"spectrum", llama, "--store", empty}), output_of({"spectrum", llama}));
}

TEST_F(CliStore, RejectsOtherVersions) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  for (const auto& [version, advice] : std::map<std::string, std::string>{
           {"1", "recompute the rows"}, {"2", "recompute the rows"}, {"4", "update attnscope"}}) {
    SCOPED_TRACE(version);
    query(store(), "PRAGMA user_version = " + version);
    const std::string before = read_file(store());
    expect_refusal(stored(command), kUnsupported, {store(), "version " + version, advice});
    expect_refusal({"export", store()}, kUnsupported, {store()});
    EXPECT_EQ(read_file(store()), before);
  }
}

TEST_F(CliStore, RejectsPathsThatCannotBeWritten) {
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

// Root may write everywhere, so a process with the user `nobody` opens the store.
TEST_F(CliStore, NamesAFolderThatIsNotWritable) {
  const fs::path place = folder_.path() / "closed";
  fs::create_directory(place);
  fs::permissions(place, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    std::string said = "opened";
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) said = "cannot be nobody";
    try {
      if (said == "opened") Store::open(place / "rows.sqlite", "1");
    } catch (const std::exception& error) {
      said = error.what();
    }
    _exit(write(ends[1], said.data(), said.size()) == std::ssize(said) ? 0 : 1);
  }
  close(ends[1]);
  std::string said(1000, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], said.data(), 1000))));
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  fs::permissions(place, fs::perms::owner_all);
  if (said == "cannot be nobody") GTEST_SKIP() << said;
  EXPECT_TRUE(contains(said, "its folder: Permission denied")) << said;
  EXPECT_FALSE(contains(said, "No such file")) << said;
}

TEST_F(CliStore, ReadsAReadOnlyStore) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  fs::permissions(store(), fs::perms::owner_read);
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_refusal(stored(command), kIo, {store()});
  EXPECT_EQ(exported(), plain);
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(CliStore, FullDiskIsAnErrorAndKeepsFinishedRows) {
  const Words command = {"spectrum", TinyLlama(20).write(folder_, "model"), "--values"};
  const std::string plain = output_of(command);
  output_of(stored(command));
  const auto whole = fs::file_size(store());
  fs::remove(store());
  for (const std::uint64_t limit : {whole / 4, whole / 2, whole * 3 / 4}) {
    // Simulates a full disk: neither the file nor its log may grow further.
    const RunResult run = run_attnscope(stored(command), {.file_limit_bytes = limit});
    EXPECT_EQ(run.exit_code, kIo) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_TRUE(contains(run.err, store())) << run.err;
    EXPECT_TRUE(contains(run.err, "disk space")) << run.err;
  }
  const long kept = items();
  EXPECT_GT(kept, 0);
  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), 140 - kept);
  EXPECT_EQ(number("SELECT sum(computed) FROM runs"), 140);
}

TEST_F(CliStore, RejectsDamagedRows) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  const std::string audio = read_file(store());
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
    std::ofstream(store(), std::ios::binary) << audio;
    query(store(), "PRAGMA foreign_keys = OFF; " + sql);
    expect_refusal({"export", store()}, kBadFile, {store(), "damaged"});
    if (run_refuses) {
      expect_refusal(stored(command), kBadFile, {store(), "damaged"});
    } else {
      EXPECT_EQ(output_of(stored(command)), plain);
    }
  }
}

TEST_F(CliStore, RestoresViewsThatAnotherProgramChanged) {
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  const std::string views = "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name";
  const auto own = query(store(), views);
  // As if another version had written its views and a user had added tables.
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

TEST_F(CliStore, ReadsAndCompletesAStoreOfAnEarlierVersion) {
  const Words command = {"spectrum", data_path("llama")};
  const std::string plain = output_of(stored(command));
  // These indexes were added to the schema without a new schema version.
  query(store(), "DROP INDEX place_by_run; DROP INDEX model_by_description");
  EXPECT_EQ(exported(), plain);
  EXPECT_EQ(output_of(stored(command)), plain);
  EXPECT_EQ(computed(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name IN "
                   "('place_by_run', 'model_by_description')"),
            2);
}

TEST_F(CliStore, DoesNotRunTriggers) {
  const Words command = {"spectrum", data_path("llama")};
  output_of(stored(command));
  query(store(), "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END");
  output_of(stored({"spectrum", data_path("gpt2")}));
  output_of(stored(command));
  EXPECT_EQ(computed(), 0);
}

TEST_F(CliStore, ADamagedFileGivesTheRightRowsOrAnError) {
  const Words command = {"spectrum", data_path("llama"), "--format", "json"};
  const std::string plain = output_of(stored(command)), audio = read_file(store());
  const std::size_t page = 4096;
  std::vector<std::pair<std::string, std::string>> broken;
  for (const std::size_t size : {std::size_t{50}, std::size_t{1000}, page, 3 * page,
                                 audio.size() / 2, audio.size() - page, audio.size() - 1}) {
    broken.emplace_back("cut to " + std::to_string(size), audio.substr(0, size));
  }
  std::mt19937_64 random(1);
  for (int time = 0; time < 20; ++time) {
    const std::size_t at = random() % audio.size(), length = 1 + random() % 200;
    std::string bytes = audio;
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
