// Rejected arguments: one line on stderr, nothing on stdout, and the matching exit code.
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST(CliErrors, UnknownKernels) {
  for (const char* wish : {"AVX2", "avx512", " none"}) {
    expect_refusals(kUsage, {{wish, {"spectrum", data_path("llama")}, {"ATTNSCOPE_KERNELS", wish}}},
                    {.environment = {{"ATTNSCOPE_KERNELS", wish}}});
  }
  output_of({"info", "--system"}, {.environment = {{"ATTNSCOPE_KERNELS", ""}}});
}

TEST(CliErrors, InvalidArguments) {
  const std::string llama = data_path("llama"), bert = data_path("bert"), gpt2 = data_path("gpt2");
  const Words spectrum = {"spectrum", llama}, matrix = {"matrix", llama};
  const Words layer0 = {"--layer", "0", "--matrix"};
  expect_refusals(
      kUsage,
      {
          {"a mistyped command", {"spectrm", llama}, {"spectrm", "'spectrum'"}},
          {"no such command", {"zzzzzzzz"}, {"zzzzzzzz", "info", "spectrum", "matrix"}},
          {"an empty command", {""}, {}},
          {"a mistyped option", spectrum + Words{"--enrgy", "0.9"}, {"--enrgy", "'--energy'"}},
          {"a mistyped flag", {"info", llama, "--quite"}, {"--quite", "'--quiet'"}},
          {"a mistyped option with its value",
           spectrum + Words{"--thread=2"},
           {"--thread", "'--threads'"}},
          {"an option of another command",
           {"info", llama, "--energy", "0.9"},
           {"--energy", "info"}},
          {"an option before the command", {"--quiet", "spectrum", llama}, {"--quiet"}},
          {"an option without its value", spectrum + Words{"--energy"}, {"--energy"}},
          {"an option twice", spectrum + Words{"--threads", "1", "--threads", "2"}, {"--threads"}},

          {"a mistyped matrix", spectrum + Words{"--matrix", "gat"}, {"'gat'", "'gate'"}},
          {"no such matrix", spectrum + Words{"--matrix", "q,x"}, {"--matrix", "'x'", "qk"}},
          {"an empty matrix", spectrum + Words{"--matrix", "q,"}, {"--matrix"}},
          {"a matrix that the model lacks",
           {"spectrum", bert, "--matrix", "gate"},
           {"--matrix", "bert", "'gate'"}},
          {"a matrix that no model has",
           {"spectrum", bert, gpt2, "--matrix", "q,gate"},
           {"--matrix", "'gate'"}},
          {"a mistyped format", spectrum + Words{"--format", "jsn"}, {"'jsn'", "'json'"}},
          {"no such format", {"info", llama, "--format", "xml"}, {"'xml'", "table", "csv", "json"}},
          {"no such progress", spectrum + Words{"--progress", "sometimes"}, {"--progress"}},

          {"layers: no number", spectrum + Words{"--layers", "x"}, {"--layers", "'x'"}},
          {"layers: half a number", spectrum + Words{"--layers", "0x1"}, {"--layers", "'0x1'"}},
          {"layers: a range to nowhere",
           spectrum + Words{"--layers", "0-x"},
           {"--layers", "'0-x'"}},
          {"layers: an empty part", spectrum + Words{"--layers", "0,,1"}, {"--layers"}},
          {"layers: backwards", spectrum + Words{"--layers", "1-0"}, {"--layers", "'1-0'"}},
          {"layers: too high", spectrum + Words{"--layers", "2"}, {"--layers", "'2'", "llama"}},
          {"layers: a range that ends too high",
           spectrum + Words{"--layers", "0-2"},
           {"--layers", "llama"}},
          {"layers: too low", spectrum + Words{"--layers", "-3"}, {"--layers", "'-3'", "llama"}},
          {"layers: beyond 64 bits",
           spectrum + Words{"--layers", "99999999999999999999"},
           {"--layers"}},

          {"energy 0", spectrum + Words{"--energy", "0"}, {"--energy", "'0'"}},
          {"energy 1", spectrum + Words{"--energy", "1"}, {"--energy", "'1'"}},
          {"energy nan", spectrum + Words{"--energy", "nan"}, {"--energy", "'nan'"}},
          {"energy inf", spectrum + Words{"--energy", "inf"}, {"--energy", "'inf'"}},
          {"energy below 0", spectrum + Words{"--energy", "-0.5"}, {"--energy", "'-0.5'"}},
          {"energy in percent", spectrum + Words{"--energy", "0.9,90"}, {"--energy", "'90'"}},
          {"energy with a unit", spectrum + Words{"--energy", "0.9x"}, {"--energy", "'0.9x'"}},
          {"energy with an empty part", spectrum + Words{"--energy", "0.9,"}, {"--energy"}},

          {"no threads", spectrum + Words{"--threads", "0"}, {"--threads", "'0'"}},
          {"threads below 0", spectrum + Words{"--threads", "-2"}, {"--threads", "'-2'"}},
          {"half a thread", spectrum + Words{"--threads", "1.5"}, {"--threads", "'1.5'"}},
          {"threads: no number", spectrum + Words{"--threads", "all"}, {"--threads", "'all'"}},
          {"threads beyond 64 bits",
           spectrum + Words{"--threads", "99999999999999999999"},
           {"--threads"}},

          {"no memory", spectrum + Words{"--memory", "0G"}, {"--memory", "'0G'", "512M"}},
          {"memory without a unit", spectrum + Words{"--memory", "2"}, {"--memory", "'2G'"}},
          {"memory: no size", {"weights", llama, "--memory", "lots"}, {"--memory", "'lots'"}},
          {"memory: a mistyped unit",
           {"circuits", llama, "--memory", "2GBs"},
           {"--memory", "'2GB'"}},

          {"matrix without a layer", matrix + Words{"--matrix", "q"}, {"--layer"}},
          {"matrix without a matrix", matrix + Words{"--layer", "0"}, {"--matrix"}},
          {"one .npy file for several models",
           {"matrix", llama, gpt2, "--layer", "0", "--matrix", "q", "--out", "both.npy"},
           {"--out", "one model"}},
          {"matrix without a model", {"matrix", "--layer", "0", "--matrix", "q"}, {"MODEL"}},
          {"a list where one matrix is needed",
           matrix + layer0 + Words{"q,k"},
           {"--matrix", "'q,k'"}},
          {"matrix: layer too high", matrix + Words{"--layer", "2", "--matrix", "q"}, {"--layer"}},
          {"matrix: layer too low", matrix + Words{"--layer", "-3", "--matrix", "q"}, {"--layer"}},
          {"matrix: no layer number", matrix + Words{"--layer", "x", "--matrix", "q"}, {"--layer"}},
          {"query head too high", matrix + layer0 + Words{"q", "--head", "4"}, {"--head", "llama"}},
          {"key head too high", matrix + layer0 + Words{"k", "--head", "2"}, {"--head", "llama"}},
          {"circuit head too high", matrix + layer0 + Words{"ov", "--head", "4"}, {"--head"}},
          {"head below 0", matrix + layer0 + Words{"q", "--head", "-1"}, {"--head"}},
          {"a head of the MLP", matrix + layer0 + Words{"up", "--head", "0"}, {"--head"}},
          {"a matrix that the model lacks",
           {"matrix", gpt2, "--layer", "0", "--matrix", "gate"},
           {"--matrix", "gpt2", "'gate'"}},
          {"two formats at once",
           matrix + layer0 + Words{"q", "--out", "w.npy", "--format", "csv"},
           {"--format"}},

          {"info without a model", {"info"}, {"MODEL"}},
          {"spectrum without a model", {"spectrum", "--per-head"}, {"MODEL"}},
          {"a model beside --system", {"info", llama, "--system"}, {"--system"}},

          {"a mistyped tensor",
           {"spectrum", gpt2, "--tensor", "transformer.wte.weigth"},
           {"--tensor", "'transformer.wte.weight'"}},
          {"no such tensor", {"spectrum", gpt2, "--tensor", "x"}, {"--tensor", "'x'"}},
          {"a vector for a matrix",
           {"spectrum", gpt2, "--tensor", "transformer.ln_f.weight"},
           {"--tensor", "'transformer.ln_f.weight'", "[32]"}},
          {"a tensor and a matrix",
           spectrum + Words{"--tensor", "x", "--matrix", "q"},
           {"--tensor"}},
          {"a tensor and layers", spectrum + Words{"--tensor", "x", "--layers", "0"}, {"--tensor"}},
          {"a rank of 0", spectrum + Words{"--rank", "0"}, {"--rank", "'0'"}},
          {"a negative rank", spectrum + Words{"--rank", "-3"}, {"--rank", "'-3'"}},
          {"a rank that is no whole number",
           spectrum + Words{"--rank", "2.5"},
           {"--rank", "'2.5'"}},
          {"a rank of words", spectrum + Words{"--rank", "many"}, {"--rank", "'many'"}},
          {"a rank that is empty", spectrum + Words{"--rank", "8,,9"}, {"--rank", "''"}},
          {"a rank beyond every matrix",
           spectrum + Words{"--rank", "99999999999999999999"},
           {"--rank"}},
          {"a share of nothing", spectrum + Words{"--rank", "D"}, {"--rank", "'D'"}},
          {"a share of zero", spectrum + Words{"--rank", "0D"}, {"--rank", "'0D'"}},
          {"more than the width", spectrum + Words{"--rank", "1.5D"}, {"--rank", "'1.5D'"}},
          {"a share of something else", spectrum + Words{"--rank", "0.1F"}, {"--rank", "'0.1F'"}},
          {"a share of a width that a tensor has not",
           {"spectrum", gpt2, "--tensor", "transformer.wte.weight", "--rank", "0.1D"},
           {"--rank", "'0.1D'"}},
          {"latent ranks and a matrix",
           spectrum + Words{"--mla", "--matrix", "q"},
           {"--mla", "--matrix"}},
          {"latent ranks and heads", spectrum + Words{"--mla", "--per-head"}, {"--per-head"}},
          {"latent ranks and ranks", spectrum + Words{"--mla", "--rank", "3"}, {"--rank"}},
          {"latent ranks and values", spectrum + Words{"--mla", "--values"}, {"--values"}},
          {"latent ranks and a tensor", spectrum + Words{"--mla", "--tensor", "x"}, {"--tensor"}},
          {"a stacked head too high",
           matrix + layer0 + Words{"kv", "--head", "2"},
           {"--head", "llama"}},
          {"a tensor and heads", spectrum + Words{"--tensor", "x", "--per-head"}, {"--tensor"}},
      });
}

TEST(CliErrors, DeviceWithoutPython) {
  const std::string llama = data_path("llama");
  for (const char* command : {"ablate", "attention", "lens", "predict"}) {
    expect_refusal({command, llama, "--text", "a", "--device", "cuda"}, kUnsupported,
                   {"--device: this program has no PyTorch", "Python package has it"});
  }
  expect_refusal({"lens", llama, "--text", "a", "--dtype", "float32"}, kUsage,
                 {"--dtype: requires --device"});
}

TEST(CliErrors, MissingValueAfterAnEqualsSign) {
  const std::string llama = data_path("llama");
  for (const char* value : {"centred", "center", "gain"}) {
    expect_refusal({"circuits", llama, "--fold-norm", value}, kUsage,
                   {"--fold-norm: pass the value after an ="});
  }
  expect_refusal({"circuits", "--fold-norm", "centred", llama}, kUsage, {"--fold-norm=centered"});
  // A model may have such a name.
  const TempFolder folder;
  fs::copy(llama, folder.path() / "gain");
  EXPECT_EQ(output_of({"circuits", "--fold-norm", "gain"}, {.folder = folder.path()}),
            output_of({"circuits", "gain", "--fold-norm=gain"}, {.folder = folder.path()}));
}

TEST(CliErrors, TextShorterThanOneSequence) {
  const TempFolder folder;
  const std::string text = folder.write("short.txt", "To be").string();
  const Words attention = {"attention", source_path("examples/shakespeare-gpt2"), "--text-file",
                           text};
  expect_refusal(attention, kUsage,
                 {"fewer than the 100 required for one sequence", "or set --length"});
  expect_refusal(attention + Words{"--length", "1", "--sequences", "99"}, kUsage,
                 {"not for the 99 required by --sequences"});
}

TEST(CliErrors, RemoteOptionHasNoEffectOnLocalModels) {
  const std::string llama = data_path("llama");
  for (const Words& command :
       {Words{"spectrum", llama}, Words{"spectrum", llama, "--tensor", "lm_head.weight"}}) {
    const RunResult run = run_attnscope(command + Words{"--remote"});
    EXPECT_EQ(run.out, output_of(command));
    EXPECT_EQ(run.err, "attnscope: warning: --remote: has no effect on '" + llama +
                           "', which is a local path\n");
    EXPECT_EQ(output_of(command + Words{"--remote", "--quiet"}), run.out);
  }
}

TEST(CliErrors, ListsMayContainSpaces) {
  const std::string llama = data_path("llama");
  const auto printed = [&](const Words& options) {
    return output_of(Words{"spectrum", llama, "--format", "json"} + options);
  };
  EXPECT_EQ(printed({"--matrix", "q, k", "--energy", "0.5, 0.9", "--layers", " 0 , -1 "}),
            printed({"--matrix", "q,k", "--energy", "0.5,0.9", "--layers", "0,-1"}));
  EXPECT_EQ(printed({"--rank", "3, 0.1D"}), printed({"--rank", "3,0.1D"}));
  EXPECT_EQ(output_of({"weights", llama, "--histogram", "--range", "-0.1, 0.2"}),
            output_of({"weights", llama, "--histogram", "--range", "-0.1,0.2"}));
  EXPECT_EQ(output_of({"similarity", llama, "--head-matrix", "0, 1"}),
            output_of({"similarity", llama, "--head-matrix", "0,1"}));
  expect_refusal({"spectrum", llama, "--matrix", "q, "}, kUsage, {"--matrix"});
}

TEST(CliErrors, SuggestsAMistypedOptionWithoutACommand) {
  expect_refusal({"--versoin"}, kUsage, {"--versoin", "--version"});
  expect_refusal({"--hlep"}, kUsage, {"--hlep", "--help"});
}

TEST(CliErrors, SuggestsSwappedLetters) {
  const std::string llama = data_path("llama");
  expect_refusal({"ifno", llama}, kUsage, {"did you mean 'info'"});
  expect_refusal({"spectrum", llama, "--matrix", "dwon"}, kUsage, {"did you mean 'down'"});
  expect_refusal({"spectrum", llama, "--format", "cvs"}, kUsage, {"did you mean 'csv'"});
}

TEST(CliErrors, NamesTheModelThatLacksALayer) {
  // albert has 4 layers, gpt2 has 2.
  expect_refusal({"spectrum", data_path("albert"), data_path("gpt2"), "--layers", "3"}, kUsage,
                 {"--layers", "gpt2"});
}

}  // namespace
}  // namespace attnscope::test
