// Texts longer than the context length: the default windows never exceed it, and longer ones run
// with a note.
#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

constexpr int kShortContext = 16;  // context length of the tiny models
constexpr int kLonger = 20;

std::string first_ids(int count) {
  std::vector<int> ids;
  for (int at = 0; at < count; ++at) ids.push_back(3 + at);
  return ids_text(ids);
}

std::string note_about(const std::string& model) {
  return model + ": the text has 20 tokens, but the model's context is 16;";
}

struct PastContext {
  std::string model;
  Words words;  // the command and its options
};

class CliPastContext : public testing::TestWithParam<PastContext> {};

TEST_P(CliPastContext, IsNotedOncePerModel) {
  const std::string& model = GetParam().model;
  const Words& words = GetParam().words;
  const auto note_of = [&](int tokens) {
    const Words command = Words{words[0], tiny_model(model)} +
                          Words(words.begin() + 1, words.end()) +
                          Words{"--tokens", first_ids(tokens)};
    const RunResult run = run_attnscope(command);
    EXPECT_EQ(run.exit_code, 0) << command_text(command) << "\n" << run.err;
    return run.err;
  };
  const std::string err = note_of(kLonger);
  const std::size_t first = err.find(note_about(model));
  ASSERT_NE(first, std::string::npos) << err;
  EXPECT_EQ(err.find(note_about(model), first + 1), std::string::npos) << err;
  EXPECT_FALSE(contains(note_of(kShortContext), "context")) << "as long as the context";
}

INSTANTIATE_TEST_SUITE_P(
    Commands, CliPastContext,
    testing::Values(PastContext{"llama", {"predict"}},
                    PastContext{"llama", {"predict", "--attribution"}},
                    PastContext{"llama", {"attention"}},
                    PastContext{"llama", {"attention", "--heatmap", "1,0"}},
                    PastContext{"llama", {"ablate", "--components", "mlp"}},
                    PastContext{"llama", {"lens"}}, PastContext{"llama", {"lens", "--grid"}},
                    PastContext{"llama", {"directions", "--directions", "1"}},
                    PastContext{"qwen2_moe", {"experts"}}, PastContext{"deepseek_v2", {"circuits"}},
                    PastContext{"deepseek_v2", {"spectrum", "--matrix", "qk"}}));

std::filesystem::path shard_in(const TempFolder& folder) {
  return folder.write("tokens.bin", shard_bytes(random_tokens(64, 40)));
}

/// RoBERTa's config counts two positions that no token uses.
TEST(CliPastContext, WindowsHaveTheContextLengthByDefault) {
  const TempFolder folder;
  const std::string shard = shard_in(folder).string();
  const std::string kNoMask = "roberta";
  for (const std::string& model : {std::string("llama"), std::string("gpt2"), kNoMask}) {
    for (const std::string command : {"attention", "lens", "ablate"}) {
      if (model == kNoMask && command != "attention") continue;  // predicts only at masks
      const Words words = {command, tiny_model(model), "--token-file", shard};
      SCOPED_TRACE(command_text(words));
      EXPECT_EQ(report_of(words)["parameters"]["length"], kShortContext);
      EXPECT_FALSE(contains(run_attnscope(words).err, "context"));
    }
  }
  const Words longer = {"lens", tiny_model("llama"), "--token-file", shard, "--length", "20"};
  EXPECT_EQ(report_of(longer + Words{"--quiet"})["parameters"]["length"], kLonger);
  EXPECT_TRUE(contains(run_attnscope(longer).err, note_about("llama")));
}

class CliRepeatedTokens : public testing::TestWithParam<const char*> {};

TEST_P(CliRepeatedTokens, HaveTheContextLengthByDefault) {
  const Words words = {GetParam(), tiny_model("llama"), "--induction"};
  EXPECT_EQ(report_of(words)["parameters"]["length"], kShortContext);
  EXPECT_FALSE(contains(run_attnscope(words).err, "context"));
  EXPECT_EQ(report_of(words + Words{kShakespeareLlama, "--layers", "0"})["parameters"]["length"],
            kShortContext)
      << "the shortest context of all models";
  const Words longer = words + Words{"--length", "20"};
  EXPECT_EQ(report_of(longer + Words{"--quiet"})["parameters"]["length"], kLonger);
  EXPECT_TRUE(contains(run_attnscope(longer).err, note_about("llama")));
  expect_refusal({GetParam(), tiny_model("gpt2"), "--induction", "--length", "20"}, kUsage,
                 {"a text of 20 tokens is longer than the 16"});
}

INSTANTIATE_TEST_SUITE_P(Commands, CliRepeatedTokens, testing::Values("attention", "ablate"));

}  // namespace
}  // namespace attnscope::test
