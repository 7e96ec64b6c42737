// The program and other processes: closed pipes, interrupts, atomically written files, and files
// that change during a run.
#include <csignal>
#include <random>
#include <thread>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// More output than any pipe buffers.
const Words kLongOutput = {"spectrum", source_path("examples/shakespeare-llama"),
                           "--values", "--per-head",
                           "--matrix", "q,o,qk",
                           "--format", "csv"};

TEST(CliPipe, AClosedPipeIsNotAnError) {
  for (const bool ignores_sigpipe : {false, true}) {
    for (const Words& command :
         {kLongOutput, Words{"spectrum", data_path("bert")}, Words{"info", data_path("bert")},
          Words{"matrix", data_path("bert"), "--layer", "0", "--matrix", "q", "--format",
                "json"}}) {
      SCOPED_TRACE(command_text(command));
      const RunResult run =
          run_attnscope(command, {.out = Reader::gone, .ignores_sigpipe = ignores_sigpipe});
      EXPECT_EQ(run.err, "");
      EXPECT_FALSE(run.timed_out);
      // The shell prints nothing in either case.
      EXPECT_TRUE(run.signal == SIGPIPE || run.exit_code == 0)
          << "signal " << run.signal << ", exit code " << run.exit_code;
    }
  }
}

TEST(CliPipe, StdinIsNotRead) {
  const RunOptions options = {.input = "not for attnscope\n"};
  EXPECT_EQ(output_of({"spectrum", data_path("bert")}, options),
            output_of({"spectrum", data_path("bert")}));
}

TEST(CliOut, ReplacesItsFileAndLeavesNothingElse) {
  const TempFolder folder;
  const std::string out = folder.write("rows", "what was there before\n").string();
  const std::string bert = data_path("bert");
  for (const Words& command :
       {Words{"spectrum", bert, "--format", "csv"}, Words{"info", bert, "--format", "json"},
        Words{"matrix", bert, "--layer", "0", "--matrix", "q"}}) {
    EXPECT_EQ(output_of(command + Words{"--out", out}), "");
    EXPECT_EQ(read_file(out), output_of(command));
  }
  EXPECT_EQ(files_in(folder.path()), Words{"rows"});
}

TEST(CliOut, WritesThroughASymbolicLink) {
  const TempFolder folder;
  const fs::path real = folder.write("real/rows", "before"), link = folder.path() / "link";
  fs::create_symlink(real, link);
  output_of({"info", data_path("bert"), "--out", link.string()});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(real), output_of({"info", data_path("bert")}));
  EXPECT_EQ(files_in(folder.path() / "real"), Words{"rows"});
}

TEST(CliOut, KeepsTheOldFileIfTheRunFails) {
  const TempFolder folder;
  TinyLlama undecoded;
  undecoded.attention(1, 'v') = zero_tensor(TinyLlama::attention_name(1, 'v'), "F4", 4, {8, 16});
  const std::string model = undecoded.write(folder, "model");
  for (const std::string name : {"rows.csv", "rows.npy"}) {
    const std::string out = folder.write("out/" + name, "before").string();
    expect_refusal({"matrix", model, "--layer", "1", "--matrix", "v", "--out", out}, 5, {"F4"});
    EXPECT_EQ(read_file(out), "before");
    if (name.ends_with(".npy")) continue;  // an array, not rows
    expect_refusal({"spectrum", model, "--out", out}, 5, {"F4"});
    expect_refusal({"spectrum", model, "--layers", "9", "--out", out}, 2, {"--layers"});
    expect_refusal({"spectrum", data_path("absent"), "--out", out}, 3, {"absent"});
    EXPECT_EQ(read_file(out), "before");
  }
  const std::string fresh = (folder.path() / "out/fresh").string();
  expect_refusal({"spectrum", model, "--out", fresh}, 5, {"F4"});
  EXPECT_EQ(files_in(folder.path() / "out"), (Words{"rows.csv", "rows.npy"}));
}

TEST(CliOut, WritesToANamedPipe) {
  const TempFolder folder;
  EXPECT_EQ(output_of({"info", data_path("bert"), "--out", "/dev/stdout"}),
            output_of({"info", data_path("bert")}));
}

/// One bfloat16 matrix that is shared by all projections: each takes a second or more.
class LongRun : public testing::Test {
 protected:
  static constexpr std::int64_t kWidth = 3000;

  LongRun() {
    std::string bytes(static_cast<std::size_t>(kWidth * kWidth) * 2, '\0');
    std::minstd_rand random(1);
    for (std::size_t at = 0; at < bytes.size(); at += 2) {
      // Random sign and mantissa bits, exponents of 1 and slightly below: always finite.
      const std::uint32_t bits = 0x3F00u | (random() & 0x80FFu);
      bytes[at] = static_cast<char>(bits & 0xFF);
      bytes[at + 1] = static_cast<char>(bits >> 8);
    }
    model_ = folder_
                 .write("long.safetensors",
                        safetensors_bytes({{"w", "BF16", {kWidth, kWidth}, std::move(bytes)}}))
                 .string();
    json layout = {{"schema", "attnscope-layout/1"},
                   {"layers", 1},
                   {"heads", 1},
                   {"head_dim", kWidth},
                   {"hidden_size", kWidth},
                   {"weights", json::array()}};
    for (const char* role : {"q", "k", "v", "o"}) {
      layout["weights"].push_back({{"role", role}, {"tensor", "w"}});
    }
    fs::create_directory(folder_.path() / "out");
    command_ = {"spectrum", model_, "--layout",
                folder_.write("layout.json", layout.dump()).string()};
  }

  std::string out() const { return (folder_.path() / "out/rows").string(); }
  Words files() const { return files_in(folder_.path() / "out"); }

  /// Waits until the run has opened its output, which happens before the computation.
  void wait_for_work(RunningCommand& run) const {
    ASSERT_TRUE(run.wait_until([&] { return run.has_open_in(folder_.path() / "out"); }));
    std::this_thread::sleep_for(200ms);
  }

  TempFolder folder_;
  std::string model_;
  Words command_;
};

void expect_interrupted(const RunResult& run) {
  EXPECT_EQ(run.exit_code, 130) << "signal " << run.signal << ": " << run.err;
  EXPECT_LT(run.seconds, 1.0);
  EXPECT_EQ(run.out, "");
  EXPECT_FALSE(contains(run.err, "error")) << run.err;
}

TEST_F(LongRun, AnInterruptLeavesNoFile) {
  RunningCommand run(command_ + Words{"--out", out()});
  wait_for_work(run);
  run.send(SIGINT);
  expect_interrupted(run.wait());
  EXPECT_EQ(files(), Words{});
}

TEST_F(LongRun, AnInterruptKeepsTheOldFile) {
  folder_.write("out/rows", "before");
  RunningCommand run(command_ + Words{"--out", out()});
  wait_for_work(run);
  run.send(SIGINT);
  expect_interrupted(run.wait());
  EXPECT_EQ(files(), Words{"rows"});
  EXPECT_EQ(read_file(out()), "before");
}

TEST_F(LongRun, SigtermAndSighupSetTheExitStatus) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    RunningCommand run(command_ + Words{"--out", out()});
    wait_for_work(run);
    run.send(signal);
    const RunResult result = run.wait();
    EXPECT_EQ(result.exit_code, 128 + signal) << "signal " << result.signal;
    EXPECT_LT(result.seconds, 1.0);
    EXPECT_EQ(result.err, "\nattnscope: interrupted\n");
    EXPECT_EQ(files(), Words{});
  }
}

TEST_F(LongRun, AKillAtAnyMomentLeavesNoPartialFile) {
  std::minstd_rand random(3);
  for (int kill = 0; kill < 25; ++kill) {
    RunningCommand run({"info", source_path("examples/shakespeare-llama"), "--out", out()});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 12'000));
    run.send(SIGKILL);
    run.wait();
    // A complete file may still have its hidden temporary name. The next run removes it.
    const Words left = files();
    const bool hidden = left == Words{".rows.attnscope-tmp"};
    EXPECT_TRUE(hidden || left.empty() || left == Words{"rows"}) << left.front();
    if (!left.empty() && !hidden) {
      EXPECT_EQ(read_file(out()), output_of({"info", source_path("examples/shakespeare-llama")}));
    }
    fs::remove(out());
  }
}

TEST_F(LongRun, AnInterruptPrintsNoDataToStdout) {
  RunningCommand run(command_);
  ASSERT_TRUE(run.wait_until([&] { return run.handles(SIGINT); }));
  std::this_thread::sleep_for(300ms);
  run.send(SIGINT);
  expect_interrupted(run.wait());
}

TEST_F(LongRun, AFileTruncatedDuringTheRunIsAnError) {
  // One thread, so that most of the file is still unread.
  RunningCommand run(command_ + Words{"--threads", "1", "--out", out()});
  wait_for_work(run);
  fs::resize_file(model_, 4096);  // the header remains
  const RunResult result = run.wait();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
  EXPECT_TRUE(result.err.starts_with("attnscope: error: " + model_)) << result.err;
  EXPECT_EQ(files(), Words{});
}

TEST_F(LongRun, AFileTruncatedBeforeTheRunIsABadFile) {
  fs::resize_file(model_, fs::file_size(model_) - 1);
  expect_refusal(command_, 4, {model_, "'w'"});
  fs::remove(model_);
  expect_refusal(command_, 3, {model_});
}

}  // namespace
}  // namespace attnscope::test
