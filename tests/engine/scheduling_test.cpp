// The output has the same bytes for any number of threads and any memory limit.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

class Scheduling : public testing::TestWithParam<std::pair<const char*, Words>> {};

TEST_P(Scheduling, ThreadsAndMemoryDoNotChangeTheOutput) {
  // Quiet, because items that exceed the memory limit cause notes.
  const Words command = GetParam().second + Words{"--format", "json", "--quiet"};
  const std::string first = output_of(command + Words{"--threads", "1"});
  EXPECT_GT(first.size(), 1000u);
  for (const char* threads : {"1", "2", "3", "8"}) {
    for (const Words& memory : {Words{}, Words{"--memory", "1B"}, Words{"--memory", "40M"}}) {
      // Items that exceed the memory limit cause notes on stderr.
      const Words words = command + Words{"--quiet", "--threads", threads} + memory;
      EXPECT_TRUE(output_of(words) == first) << command_text(words);
    }
  }
}

Words on_two_models(const Words& words) {
  return words + Words{source_path("examples/shakespeare-llama"), data_path("albert")};
}

INSTANTIATE_TEST_SUITE_P(
    Cli, Scheduling,
    testing::Values(
        std::pair("spectrum",
                  on_two_models({"spectrum", "--layers", "0,-1", "--per-head", "--values",
                                 "--matrix", "q,k,v,o,gate,up,down,qk,ov,kv"})),
        std::pair("mla", on_two_models({"spectrum", "--mla"})),
        std::pair("tensor",
                  Words{"spectrum", "--tensor", "transformer.h.0.attn.c_attn.weight", "--values",
                        data_path("gpt2"), source_path("examples/shakespeare-gpt2")}),
        std::pair("circuits", on_two_models({"circuits", "--layers", "0,-1"})),
        std::pair("composition", Words{"circuits", "--composition", "--layers", "0-2",
                                       source_path("examples/shakespeare-llama")}),
        std::pair("weights", on_two_models({"weights", "--per-head", "--histogram", "--bins", "fd",
                                            "--layers", "0,-1"})),
        std::pair("similarity", on_two_models({"similarity", "--histogram", "--bins", "fd"})),
        std::pair("overlap", on_two_models({"similarity", "--overlap"})),
        std::pair("head_matrix",
                  on_two_models({"similarity", "--head-matrix", "0,1", "--matrix", "q"}))),
    [](const auto& command) { return std::string(command.param.first); });

}  // namespace
}  // namespace attnscope::test
