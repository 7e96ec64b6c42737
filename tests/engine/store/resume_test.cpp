// Runs that are stopped at any moment and resume.
#include <csignal>
#include <random>
#include <thread>

#include "tests/support/program.h"
#include "tests/support/sqlite_query.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr long kResumeLayers = 24, kMatrices = 7, kItems = kResumeLayers * kMatrices;

/// A Llama whose matrices take a few milliseconds each, and a second or two in total.
class LongStoredRun : public testing::Test {
 protected:
  LongStoredRun() {
    constexpr std::int64_t kWidth = 256;
    TinyLlama model(0);
    model.config["num_hidden_layers"] = kResumeLayers;
    model.config["hidden_size"] = model.config["intermediate_size"] = kWidth;
    model.config["num_key_value_heads"] = 4;
    model.config["head_dim"] = kWidth / 4;
    model.tensors.clear();
    std::uint64_t seed = 0;
    for (long layer = 0; layer < kResumeLayers; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      for (const std::string name : {"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o",
                                     "mlp.gate", "mlp.up", "mlp.down"}) {
        model.tensors.push_back(
            random_tensor(prefix + name + "_proj.weight", {kWidth, kWidth}, ++seed));
      }
    }
    command_ = {
        "spectrum", model.write(folder_, "model"), "--per-head", "--format", "csv", "--threads",
        "2"};
    const auto start = Clock::now();
    plain_ = output_of(command_);
    whole_ = Clock::now() - start;
  }

  fs::path store() const { return folder_.path() / "rows.sqlite"; }
  Words stored() const { return command_ + Words{"--store", store().string()}; }
  long number(const std::string& sql) const { return query_number(store(), sql); }

  /// Number of items in the store; 0 before it has tables.
  long items() const {
    if (!fs::exists(store())) return 0;
    try {
      return number("SELECT count(*) FROM items");
    } catch (const std::runtime_error&) {
      return 0;
    }
  }

  /// Every item is present, and no run recomputed a stored item. A killed run leaves no trace of
  /// the items in progress, which are at most one per thread.
  void expect_whole() const {
    EXPECT_EQ(items(), kItems);
    EXPECT_EQ(number("SELECT sum(computed) FROM runs"), kItems);
    EXPECT_EQ(number("SELECT count(*) FROM runs WHERE computed <> "
                     "(SELECT count(*) FROM items WHERE items.run = runs.id)"),
              0);
    EXPECT_EQ(number("SELECT computed + found FROM runs ORDER BY id DESC LIMIT 1"), kItems);
    EXPECT_EQ(number("SELECT count(*) FROM places"), kItems);
    EXPECT_EQ(query(store(), "PRAGMA integrity_check").at(0).at(0), "ok");
    EXPECT_EQ(output_of({"export", store().string(), "--format", "csv"}), plain_);
  }

  TempFolder folder_;
  Words command_;
  std::string plain_;        // output of an uninterrupted run without a store
  Clock::duration whole_{};  // its duration
};

TEST_F(LongStoredRun, ResumesAfterTwentyKillsAndPrintsTheSameBytes) {
  constexpr int kKills = 20;
  std::mt19937_64 random(1);
  const auto up_to = [&](Clock::duration most) {
    return Clock::duration(std::uniform_int_distribution<Clock::rep>(
        0, std::max<Clock::rep>(1, most.count()))(random));
  };
  int kills = 0, finished = 0;
  long before = 0;
  while (kills < kKills) {
    RunningCommand run(stored());
    // Most kills fall into the computation, some into the opening of the store.
    if (kills % 4 != 0) {
      run.wait_until([&] { return items() > before; });
    }
    const auto moment = Clock::now() + up_to(whole_ / 12);
    run.wait_until([&] { return Clock::now() >= moment; });
    run.send(SIGKILL);
    const RunResult result = run.wait();
    if (result.signal == SIGKILL) {
      ++kills;
      EXPECT_EQ(result.out, "");
      const long after = items();
      EXPECT_GE(after, before) << "a finished item was lost";
      before = after;
      continue;
    }
    // The run finished before the kill, which is valid. A new run starts.
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, plain_);
    ASSERT_LT(++finished, 20);
    expect_whole();
    fs::remove(store());
    before = 0;
  }
  EXPECT_EQ(output_of(stored()), plain_);
  expect_whole();
  EXPECT_EQ(output_of(stored()), plain_);
  EXPECT_EQ(number("SELECT computed FROM runs ORDER BY id DESC LIMIT 1"), 0);
}

TEST_F(LongStoredRun, AnInterruptKeepsFinishedRows) {
  RunningCommand run(stored());
  ASSERT_TRUE(run.wait_until([&] { return items() >= 5; }));
  run.send(SIGINT);
  const RunResult result = run.wait();
  EXPECT_EQ(result.exit_code, 130) << "signal " << result.signal << ": " << result.err;
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(contains(result.err, "error")) << result.err;
  const long kept = items();
  EXPECT_GE(kept, 5);
  // Finished rows can already be exported.
  const CsvTable rows = csv_of({"export", store().string()});
  EXPECT_GE(rows.rows.size(), 5u);
  EXPECT_EQ(output_of(stored()), plain_);
  EXPECT_EQ(number("SELECT found FROM runs ORDER BY id DESC LIMIT 1"), kept);
  expect_whole();
}

TEST_F(LongStoredRun, TwoProcessesShareOneStore) {
  RunningCommand first(stored()), second(stored());
  for (RunningCommand* run : {&first, &second}) {
    const RunResult result = run->wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out, plain_);
  }
  EXPECT_EQ(items(), kItems);
  EXPECT_EQ(number("SELECT count(*) FROM places"), kItems);
  // Both may have computed the same item. The later one uses or keeps the first result.
  EXPECT_EQ(number("SELECT min(computed + found) FROM runs"), kItems);
  EXPECT_EQ(output_of({"export", store().string(), "--format", "csv"}), plain_);
}

}  // namespace
}  // namespace attnscope::test
