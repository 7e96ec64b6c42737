// Text from `predict --generate`: streamed output, interrupts, and texts longer than the context.
#include <csignal>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

const std::string kGenerateLlama = source_path("examples/shakespeare-llama");

Words generate(const std::string& tokens, const Words& more = {}) {
  return Words{"predict", kGenerateLlama, "--text", "KING", "--generate", tokens} + more;
}

/// Terminal output without carriage returns.
std::string shown(std::string text) {
  std::erase(text, '\r');
  return text;
}

/// The text with the indentation of tables.
std::string indented(const std::string& text) {
  std::string out = "  ";
  for (const char byte : text) out += byte == '\n' ? "\n  " : std::string(1, byte);
  return out;
}

std::string written_text(const std::string& tokens) {
  return report_of(generate(tokens)).at("models")[0].at("generated").at("text");
}

constexpr const char* kWritten = "generated\n";
const RunOptions kTerminal = {.out = Reader::terminal, .environment = {{"NO_COLOR", "1"}}};

TEST(CliGenerate, ATerminalShowsTheTextOnceBeforeTheTable) {
  const std::string out = shown(output_of(generate("60"), kTerminal));
  const std::string text = kWritten + indented(written_text("60")) + "\n\n";
  ASSERT_TRUE(out.starts_with(text)) << out;
  const std::string table = out.substr(text.size());
  EXPECT_TRUE(table.starts_with("shakespeare-llama (")) << table;
  EXPECT_TRUE(contains(table, "\ngenerated (60 tokens): above\nhidden states")) << table;
}

TEST(CliGenerate, OnlyATableOnATerminalStreamsText) {
  for (const std::string format : {"json", "csv"}) {
    const Words command = generate("5", {"--format", format});
    EXPECT_EQ(shown(output_of(command, kTerminal)), shown(output_of(command)));
  }
  const std::string two =
      shown(output_of(generate("5") + Words{source_path("examples/shakespeare-gpt2")}, kTerminal));
  EXPECT_TRUE(two.starts_with("shakespeare-llama")) << "two models write at once: " << two;
  EXPECT_FALSE(contains(two, "above")) << two;
  EXPECT_FALSE(contains(output_of(generate("5")), "above"));
}

TEST(CliGenerate, ShowsIdsWithoutATokenizer) {
  const Words command = {"predict", data_path("forward/llama"), "--tokens", "3,4,5", "--generate",
                         "4"};
  const json tokens = report_of(command).at("models")[0].at("generated").at("tokens");
  std::string ids;
  for (const json& token : tokens) ids += "<" + std::to_string(token.at("id").get<int>()) + "> ";
  EXPECT_TRUE(shown(output_of(command, kTerminal)).starts_with(kWritten + indented(ids)));
}

constexpr const char* kMany = "30000";  // takes minutes

/// Interrupts the command after it has printed some text, or after half a second if it prints none.
RunResult interrupted(const Words& command, const RunOptions& options = {}) {
  RunningCommand run(command, options);
  const bool shows = options.out == Reader::terminal;
  GivenTime given = run.time();
  EXPECT_TRUE(
      run.wait_until([&] { return shows ? run.printed().size() > 200 : given.seconds() > 0.5; }));
  run.send(SIGINT);
  return run.wait();
}

/// Checks that the output is a prefix of the expected text, formatted as in tables, and nothing
/// else.
void expect_only_text(const std::string& out, const std::string& end) {
  ASSERT_TRUE(out.starts_with(kWritten)) << out;
  ASSERT_TRUE(out.ends_with(end)) << out;
  const std::string begin = kWritten, whole = indented(written_text("200"));
  const std::string text = out.substr(begin.size(), out.size() - begin.size() - end.size());
  const std::size_t known = std::min(text.size(), whole.size());
  EXPECT_GT(known, 10u);
  EXPECT_EQ(text.substr(0, known), whole.substr(0, known));
  EXPECT_FALSE(contains(text, "hidden states")) << text;
}

TEST(CliGenerate, AnInterruptKeepsTheTextShownOnATerminal) {
  const RunResult run = interrupted(generate(kMany), kTerminal);
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_EQ(run.err, "\nattnscope: interrupted\n");
  expect_only_text(shown(run.out), "\n");
}

TEST(CliGenerate, AnInterruptedTableShowsTheTextSoFarWithANote) {
  const RunResult run = interrupted(generate(kMany));
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_TRUE(contains(run.err, "interrupted")) << run.err;
  expect_only_text(run.out, "\n(interrupted)\n");
}

TEST(CliGenerate, AnInterruptLeavesNoOutputInOtherFormats) {
  const TempFolder folder;
  const std::string file = (folder.path() / "out").string();
  for (const Words& more : {Words{"--format", "json"}, Words{"--format", "csv"},
                            Words{"--out", file}, Words{"--save", file, "--format", "json"}}) {
    const RunResult run = interrupted(generate(kMany, more));
    EXPECT_EQ(run.exit_code, 130) << run.err;
    EXPECT_EQ(run.out, "") << command_text(more);
    EXPECT_EQ(files_in(folder.path()), Words{}) << command_text(more);
  }
}

TEST(CliGenerate, RejectsMoreTextThanTheMemoryHolds) {
  expect_refusal(generate("1000000", {"--memory", "100M"}), 2,
                 {"--generate", "the KV cache for 1000001 tokens", "--memory"});
}

TEST(CliGenerate, NotesATextPastTheContext) {
  EXPECT_EQ(run_attnscope(generate("255")).err, "");
  for (const Words& command : {generate("256"), Words{"predict", kGenerateLlama, "--tokens", [] {
                                                        std::string ids = "1";
                                                        for (int at = 1; at < 257; ++at)
                                                          ids += ",1";
                                                        return ids;
                                                      }()}}) {
    const RunResult run = run_attnscope(command);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_TRUE(contains(run.err, "note: shakespeare-llama: the text has 257 tokens")) << run.err;
    EXPECT_TRUE(contains(run.err, "the model's context is 256")) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
