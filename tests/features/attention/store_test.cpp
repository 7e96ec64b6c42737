// `attention --store`: what is stored and found, and that a killed run resumes.
#include <csignal>

#include "tests/features/attention/attention_model.h"
#include "tests/support/store_command.h"

namespace attnscope::test {
namespace {

class AttentionStore : public CliStore {
 protected:
  /// Windows of 8 tokens: one batch contains all of them.
  Words command(const std::string& model, const Words& options = {}) const {
    return Words{"attention", tiny_model(model), "--token-file", shard_, "--length", "8"} + options;
  }

  const std::string shard_ =
      folder_.write("tokens.bin", shard_bytes(random_tokens(80, 48))).string();
};

TEST_F(AttentionStore, ASecondRunComputesNothing) {
  for (const Words& options :
       {Words{"--sequences", "3"}, Words{"--sequences", "2", "--layers", "1"},
        Words{"--sequences", "3", "--exclude-first-token"}}) {
    expect_computed(command("gpt2", options), 1);
    expect_computed(command("gpt2", options), 0);
  }
  const Words induction = {"attention", tiny_model("llama"), "--induction", "--length", "8"};
  expect_computed(induction, 1);
  expect_computed(induction, 0);
}

TEST_F(AttentionStore, ExportPrintsEachTextSeparately) {
  const Words json_of = {"--format", "json"};
  const Words first = command("gpt2", {"--sequences", "3"});
  output_of(stored(first));
  EXPECT_EQ(exported(json_of), output_of(first + json_of));
  EXPECT_EQ(exported(), output_of(first));
  const Words second = command("gpt2", {"--sequences", "4"});
  output_of(stored(second));
  expect_refusal({"export", store(), "--format", "csv"}, kUsage, {"several sets", "tokens_hash"});
  EXPECT_EQ(exported(Words{"--set", "2"} + json_of), output_of(second + json_of));
  EXPECT_EQ(exported(Words{"--set", "1"} + json_of), output_of(first + json_of));
}

TEST_F(AttentionStore, AKilledRunResumes) {
  const Words longer = long_attention_run(folder_, 60) + Words{"--format", "csv"};
  const std::string plain = output_of(longer, {.timeout = std::chrono::milliseconds(120'000)});
  long kept = 0;
  for (int kills = 0; kills < 3; ++kills) {
    RunningCommand run(stored(longer));
    run.wait_until([&] {
      try {
        return std::filesystem::exists(store()) && items() > kept;
      } catch (const std::runtime_error&) {
        return false;  // no tables yet
      }
    });
    run.send(SIGKILL);
    run.wait();
    const long now = items();
    EXPECT_GE(now, kept);
    kept = now;
  }
  EXPECT_GT(kept, 0);
  EXPECT_EQ(output_of(stored(longer), {.timeout = std::chrono::milliseconds(120'000)}), plain);
  EXPECT_EQ(computed(), 12 - kept) << "of 12 batches of 5 windows";
  EXPECT_EQ(exported({"--format", "csv"}), plain);
}

}  // namespace
}  // namespace attnscope::test
