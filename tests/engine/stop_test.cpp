// Every command, stopped at random moments: during start, computation and output. It ends within a
// second and leaves no partial output. With a store, the next run resumes.
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <set>

#include "tests/support/llama_layer.h"
#include "tests/support/program.h"
#include "tests/support/sqlite_query.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using StopClock = std::chrono::steady_clock;

/// Stops runs of one command that share a store, and checks what each of them leaves.
class Stops {
 public:
  /// `reference`: output of an undisturbed run, or empty if that would take too long.
  Stops(Words command, bool stores, std::optional<std::string> reference, std::uint64_t seed)
      : command_(std::move(command)), reference_(std::move(reference)), random_(seed) {
    folder_.write("out", "before\n");
    if (stores) command_ = command_ + Words{"--store", store().string()};
  }

  /// One run that is stopped after at most `longest`, with output to a file or to stdout.
  void stop_once(StopClock::duration longest) {
    const bool to_file = random_() % 2 == 0;
    const int signal = random_() % 2 == 0 ? SIGINT : SIGTERM;
    const auto moment = StopClock::duration(static_cast<StopClock::rep>(
        static_cast<double>(longest.count()) * static_cast<double>(random_() % 1000) / 1000));
    SCOPED_TRACE(command_text(command_) + (to_file ? " --out …" : "") + ", signal " +
                 std::to_string(signal) + " after " + std::to_string(moment / 1ms) + " ms");
    const long runs = number("SELECT count(*) FROM runs");
    const auto start = StopClock::now();
    RunningCommand run(to_file ? command_ + Words{"--out", out().string()} : command_);
    run.wait_until([&] { return StopClock::now() - start >= moment; });
    const bool has_begun = number("SELECT count(*) FROM runs") > runs;
    run.send(signal);
    const RunResult result = run.wait();
    EXPECT_LT(result.seconds, 1.0);
    EXPECT_FALSE(contains(result.err, "error")) << result.err;
    if (result.signal != 0) {  // before main()
      EXPECT_EQ(result.signal, signal);
      EXPECT_FALSE(has_begun) << "a signal that the program does not handle";
    } else if (result.exit_code != 0) {  // else it had finished
      EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    }
    expect_nothing_half(result, to_file);
    expect_audio_store();
  }

  /// The final run is not stopped. It computes the missing items and prints the complete output.
  void finish() {
    SCOPED_TRACE(command_text(command_));
    const long kept = items();
    const std::string printed = output_of(command_, {.timeout = std::chrono::milliseconds(120s)});
    if (reference_) {
      EXPECT_EQ(printed, *reference_);
    }
    if (fs::exists(store())) {
      EXPECT_EQ(number("SELECT computed FROM runs ORDER BY id DESC LIMIT 1"), items() - kept);
    }
  }

 private:
  fs::path store() const { return folder_.path() / "rows.sqlite"; }
  fs::path out() const { return folder_.path() / "out"; }

  RunResult exported() const {
    return run_attnscope({"export", store().string(), "--format", "csv"});
  }

  long items() const { return number("SELECT count(*) FROM items"); }

  /// 0 if the store has no tables yet.
  long number(const std::string& sql) const {
    if (!fs::exists(store())) return 0;
    try {
      return query_number(store(), sql);
    } catch (const std::runtime_error&) {
      return 0;
    }
  }

  /// The file is complete, or still the old one. A stopped run to stdout has printed nothing,
  /// unless it had finished and the signal came between two writes.
  void expect_nothing_half(const RunResult& result, bool to_file) {
    // SQLite's additional files belong to the store.
    const std::set<std::string> left = {"out", "rows.sqlite", "rows.sqlite-journal",
                                        "rows.sqlite-shm", "rows.sqlite-wal"};
    for (const std::string& name : files_in(folder_.path())) {
      EXPECT_TRUE(left.contains(name)) << name << " is left";
    }
    const std::string file = read_file(out());
    if (!to_file) {
      EXPECT_EQ(file, "before\n");
      if (result.exit_code == 0 || result.out.empty()) return;
      EXPECT_TRUE(!reference_ || reference_->starts_with(result.out)) << result.out;
      if (fs::exists(store())) {
        EXPECT_EQ(exported().out, reference_) << "printed before the work was done";
      }
    } else {
      EXPECT_EQ(result.out, "");
      if (result.exit_code != 0) {
        EXPECT_TRUE(file == "before\n" || file == reference_) << file;
      } else if (reference_) {
        EXPECT_EQ(file, *reference_);
      }
      folder_.write("out", "before\n");
    }
  }

  /// Finished rows can be exported, and equal those of the complete run.
  void expect_audio_store() {
    const long now = items();
    EXPECT_GE(now, items_before_) << "a finished item was lost";
    items_before_ = now;
    if (!fs::exists(store()) || fs::file_size(store()) == 0) return;
    EXPECT_EQ(query(store(), "PRAGMA integrity_check").at(0).at(0), "ok");
    const RunResult finished = exported();
    if (now == 0) {
      EXPECT_NE(finished.exit_code, 0);
      EXPECT_TRUE(contains(finished.err, "no rows")) << finished.err;
      return;
    }
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    // A row of --mla consists of two items, and only one of them may be finished.
    if (!reference_ || contains(command_text(command_), "--mla")) return;
    const std::vector<Row> known = rows_of(*reference_);
    for (const Row& row : rows_of(finished.out)) {
      EXPECT_NE(std::find(known.begin(), known.end(), row), known.end())
          << ::testing::PrintToString(row);
    }
  }

  /// The nonempty cells of a row by column name. A table has only the columns that its rows fill,
  /// so an unfinished run may lack columns of later matrices.
  using Row = std::map<std::string, std::string>;

  static std::vector<Row> rows_of(const std::string& csv) {
    const CsvTable table(csv);
    std::vector<Row> rows;
    for (const Words& cells : table.rows) {
      Row& row = rows.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!cells[i].empty()) row.emplace(table.columns[i], cells[i]);
      }
    }
    return rows;
  }

  TempFolder folder_;
  Words command_;
  std::optional<std::string> reference_;
  std::mt19937_64 random_;
  long items_before_ = 0;
};

/// A Llama of six layers, whose commands take a tenth of a second or more.
std::string small_model(const TempFolder& folder) {
  constexpr std::int64_t kLayers = 6, kWidth = 256;
  TinyLlama model(0);
  model.config["num_hidden_layers"] = kLayers;
  model.config["hidden_size"] = model.config["intermediate_size"] = kWidth;
  model.config["num_key_value_heads"] = TinyLlama::kHeads;
  model.config["head_dim"] = kWidth / TinyLlama::kHeads;
  model.tensors.clear();
  std::uint64_t seed = 0;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    for (const std::string name : {"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o",
                                   "mlp.gate", "mlp.up", "mlp.down"}) {
      model.tensors.push_back(
          random_tensor("model.layers." + std::to_string(layer) + "." + name + "_proj.weight",
                        {kWidth, kWidth}, ++seed));
    }
  }
  return model.write(folder, "model");
}

TEST(Stop, EveryCommandStopsAtRandomMoments) {
  const TempFolder folder;
  const std::string model = small_model(folder);
  const Words csv = {"--format", "csv"};
  const std::string filled = (folder.path() / "filled.sqlite").string();
  output_of({"spectrum", model, "--per-head", "--store", filled});
  const struct {
    Words command;
    bool stores = true;
  } cases[] = {
      {{"spectrum", model, "--per-head", "--matrix", "q,k,v,o,gate,up,down,qk,ov"}},
      {{"spectrum", model, "--mla"}},
      {{"spectrum", model, "--tensor", "model.layers.0.mlp.up_proj.weight"}},
      {{"weights", model, "--per-head", "--histogram"}},
      {{"similarity", model}},
      {{"similarity", model, "--overlap"}},
      {{"circuits", model}},
      {{"circuits", model, "--composition"}},
      {{"info", model}, false},
      {{"matrix", model, "--layer", "0", "--matrix", "qk"}, false},
      {{"export", filled}, false},
  };
  std::uint64_t seed = 0;
  for (const auto& [command, stores] : cases) {
    const auto start = StopClock::now();
    const std::string reference = output_of(command + csv);
    const auto whole = StopClock::now() - start;
    Stops stops(command + csv, stores, reference, ++seed);
    for (int stop = 0; stop < 6; ++stop) stops.stop_once(stop == 0 ? 20ms : whole * 6 / 5);
    stops.finish();
    // All items are stored by now, so the stops fall into opening, reading and writing.
    for (int stop = 0; stop < 3; ++stop) stops.stop_once(40ms);
  }
}

// ---- Layers of the shape of Llama-3-8B ----------------------------------------------------------

TEST(StopOfLargeLayers, EveryCommandEndsWithinASecond) {
  const TempFolder folder;
  const LlamaLayer layer(folder);
  const auto of_layer = [&](Words command) {
    command.insert(command.begin() + 1, {layer.weights, "--layout", layer.layout});
    return command + Words{"--format", "csv"};
  };
  const struct {
    Words command;
    int stops;
    StopClock::duration longest;
  } cases[] = {
      {{"spectrum"}, 3, 1500ms},
      {{"spectrum", "--matrix", "gate", "--layers", "0"}, 2, 2500ms},
      {{"weights", "--histogram"}, 2, 300ms},
      {{"similarity"}, 2, 1000ms},
      {{"similarity", "--overlap"}, 2, 1500ms},
      {{"circuits"}, 3, 1500ms},
      {{"circuits", "--composition"}, 3, 1500ms},
  };
  std::uint64_t seed = 100;
  for (const auto& [command, count, longest] : cases) {
    Stops stops(of_layer(command), true, std::nullopt, ++seed);
    for (int stop = 0; stop < count; ++stop) stops.stop_once(longest);
  }
  Stops matrix(of_layer({"matrix", "--layer", "0", "--matrix", "q"}), false, std::nullopt, 1);
  for (int stop = 0; stop < 2; ++stop) matrix.stop_once(500ms);
}

TEST(StopOfLargeLayers, TheNextRunResumes) {
  const TempFolder folder;
  const LlamaLayer layer(folder);
  const Words command = {"spectrum", layer.weights, "--layout", layer.layout, "--layers",  "0",
                         "--matrix", "k,v,kv",      "--format", "csv",        "--threads", "1"};
  const auto start = StopClock::now();
  const std::string reference = output_of(command, {.timeout = std::chrono::milliseconds(120s)});
  const auto whole = StopClock::now() - start;
  Stops stops(command, true, reference, 200);
  for (int stop = 0; stop < 3; ++stop) stops.stop_once(whole);
  stops.finish();
}

}  // namespace
}  // namespace attnscope::test
