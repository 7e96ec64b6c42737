// Files that cannot be read or written: one line on stderr, nothing on stdout.
#include "tests/support/refusals.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST(CliErrors, UnknownFormatListsTheSupportedOnes) {
  const TempFolder folder;
  const Words all = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", "index"};
  folder.write("weights.xyz", "weights");
  folder.write("empty/notes.txt", "");
  expect_refusal({"info", (folder.path() / "weights.xyz").string()}, kUnsupported, all);
  expect_refusal({"info", (folder.path() / "empty").string()}, kIo, all);
}

TEST(CliErrors, FilesThatCannotBeReadOrWritten) {
  const TempFolder folder;
  const std::string root = folder.path().string();
  TinyLlama().write(folder, "no-config");
  fs::remove(folder.path() / "no-config/config.json");
  folder.write("no-weights/config.json", TinyLlama().config.dump());
  folder.write("missing-shard/config.json", TinyLlama().config.dump());
  folder.write("missing-shard/model.safetensors.index.json",
               R"({"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}})");
  folder.write("a-file", "");
  const std::string llama = data_path("llama");
  std::vector<Refusal> refusals = {
      {"no such model",
       {"spectrum", root + "/absent"},
       {root + "/absent", "hub is named ORG/NAME"}},
      {"the name of a model on a hub",
       {"info", "openai/gpt2"},
       {"openai/gpt2", "no such local file or folder"}},
      {"a model without a name", {"info", ""}, {}},
      {"a second model that is absent", {"spectrum", llama, root + "/absent"}, {"/absent"}},
      {"a path below a file", {"info", root + "/a-file/model"}, {"/a-file/model"}},
      {"no config.json", {"spectrum", root + "/no-config"}, {"config.json", "--layout"}},
      {"no config.json beside a file",
       {"spectrum", root + "/no-config/model.safetensors"},
       {"config.json"}},
      {"no weights", {"info", root + "/no-weights"}, {"no-weights", ".safetensors"}},
      {"a shard that is absent",
       {"spectrum", root + "/missing-shard"},
       {"model-00001-of-00001.safetensors", "model.safetensors.index.json"}},
      {"no layout file", {"info", llama, "--layout", root + "/absent.json"}, {"/absent.json"}},
      {"a layout that is a folder", {"info", llama, "--layout", root}, {root}},
  };
  for (const Words& command : {Words{"spectrum", llama}, Words{"info", llama},
                               Words{"matrix", llama, "--layer", "0", "--matrix", "q"}}) {
    refusals.push_back({"no such folder for the output",
                        command + Words{"--out", root + "/absent/out"},
                        {root + "/absent/out"}});
    refusals.push_back({"output below a file",
                        command + Words{"--out", root + "/a-file/out"},
                        {root + "/a-file/out"}});
    refusals.push_back({"a folder as output", command + Words{"--out", root}, {root}});
  }
  expect_refusals(kIo, refusals);
  EXPECT_EQ(files_in(folder.path()), (Words{"a-file", "missing-shard", "no-config", "no-weights"}));
}

TEST(CliErrors, FullDiskDuringOutput) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  const std::string llama = data_path("llama");
  for (const Words& command : {Words{"spectrum", llama}, Words{"info", llama, "--format", "csv"},
                               Words{"matrix", llama, "--layer", "0", "--matrix", "q"}}) {
    expect_refusal(command, kIo, {"stdout"}, {.out = Reader::full});
    expect_refusal(command + Words{"--out", "/dev/full"}, kIo, {"/dev/full"});
  }
}

TEST(CliErrors, FullDiskDuringHelpAndCompletions) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  for (const Words& command : {Words{"completion", "man"}, Words{"completion", "bash"},
                               Words{"--help"}, Words{"spectrum", "--help"}}) {
    expect_refusal(command, kIo, {"stdout"}, {.out = Reader::full});
  }
}

}  // namespace
}  // namespace attnscope::test
