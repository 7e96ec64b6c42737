// Progress of a run on a terminal and in a log.
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// A checkpoint whose spectrum takes long enough for progress to be shown.
std::string slow_model(const TempFolder& folder) {
  constexpr std::int64_t kWidth = 600;
  std::vector<TensorToWrite> tensors;
  json layout = {{"schema", "attnscope-layout/1"},
                 {"layers", 6},
                 {"heads", 1},
                 {"head_dim", kWidth},
                 {"hidden_size", kWidth},
                 {"weights", json::array()}};
  layout["weights"].push_back({{"role", "q"}, {"tensor", "q.{layer}"}});
  for (int layer = 0; layer < 6; ++layer) {
    tensors.push_back(random_tensor("q." + std::to_string(layer), {kWidth, kWidth}, 7));
  }
  folder.write("layout.json", layout.dump());
  return folder.write("slow.safetensors", safetensors_bytes(tensors)).string();
}

TEST(CliProgress, IsShownOnATerminalAndErasedAtTheEnd) {
  const TempFolder folder;
  const Words command = {"spectrum",  slow_model(folder),
                         "--layout",  (folder.path() / "layout.json").string(),
                         "--threads", "1"};
  const std::string plain = output_of(command);
  const auto on_terminal = [&](const Words& more, const char* no_color = "1") {
    const RunResult run = run_attnscope(
        command + more, {.err = Reader::terminal, .environment = {{"NO_COLOR", no_color}}});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, plain);
    return run.err;
  };
  for (const Words& more : {Words{}, Words{"--progress", "auto"}, Words{"--progress", "always"}}) {
    const std::string line = on_terminal(more);
    for (const char* part : {"of 6 matrices", "MB", "/s", "left"}) {
      EXPECT_TRUE(contains(line, part)) << "lacks " << part << ": " << line;
    }
    EXPECT_FALSE(contains(line, "\n")) << line;
    EXPECT_TRUE(line.ends_with(" \r")) << "traces are left: " << line;
    EXPECT_FALSE(has_escapes(line)) << line;
  }
  const RunResult dumb =
      run_attnscope(command, {.err = Reader::terminal, .environment = {{"TERM", "dumb"}}});
  EXPECT_FALSE(contains(dumb.err, "\r") || has_escapes(dumb.err)) << dumb.err;
  EXPECT_EQ(on_terminal({"--progress", "never"}), "");
  EXPECT_EQ(on_terminal({"--quiet"}), "");

  const RunResult always = run_attnscope(command + Words{"--progress", "always"});
  EXPECT_EQ(always.out, plain);
  EXPECT_FALSE(has_escapes(always.err)) << always.err;
  EXPECT_FALSE(contains(always.err, "\r")) << always.err;
}

}  // namespace
}  // namespace attnscope::test
