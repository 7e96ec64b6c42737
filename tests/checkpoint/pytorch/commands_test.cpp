// Commands print the same for torch.save checkpoints as for the same weights in safetensors
// (tools/make_pytorch_files.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/support/program.h"
#include "tests/support/torch_writer.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = source_path("tests/data/pytorch");

/// The same arguments for both checkpoints: each is a folder `m` in its own parent folder.
const std::vector<Words> kPytorchCommands = {
    {"spectrum", "m", "--per-head", "--matrix", "q,k,v,o,gate,up,down,qk,ov,kv", "--values"},
    {"spectrum", "m", "--per-head", "--rank", "3,0.1D", "--format", "json"},
    {"spectrum", "m", "--tensor", "model.layers.0.mlp.gate_proj.weight", "--format", "csv"},
    {"circuits", "m", "--composition", "--format", "json"},
    {"circuits", "m", "--fold-norm", "--rope-offset", "-3", "--format", "json"},
    {"weights", "m", "--per-head", "--histogram", "--format", "json"},
    {"similarity", "m", "--overlap", "--format", "json"},
    {"matrix", "m", "--layer", "1", "--matrix", "o", "--format", "csv"},
    {"matrix", "m", "--layer", "0", "--matrix", "qk", "--head", "1", "--format", "csv"},
    {"predict", "m", "--tokens", "1,2,3,4", "--generate", "4", "--format", "json"},
    {"attention", "m", "--tokens", "1,2,3,4,5", "--format", "json"},
};

/// The output without the file size, which depends on the format.
std::string printed_by(const Words& command, const TempFolder& folder) {
  const std::string text = output_of(command, {.folder = folder.path()});
  return std::regex_replace(text, std::regex("\"bytes\":[0-9]+"), "\"bytes\":0");
}

/// Writes a folder `m` in `folder` with the reference config.json and a copy of the weights.
void make_model(const TempFolder& folder, const fs::path& weights, const std::string& name) {
  folder.write("m/config.json", read_file(kFiles / "reference/config.json"));
  folder.write("m/" + name, read_file(weights));
}

TEST(PyTorchCommands, EveryFormatPrintsTheSameBytes) {
  const TempFolder reference;
  make_model(reference, kFiles / "reference/model.safetensors", "model.safetensors");
  const struct {
    const char *file, *name;
  } forms[] = {{"zip.pt", "pytorch_model.bin"},  {"legacy.pt", "pytorch_model.bin"},
               {"views.pt", "model.pth"},        {"columns-legacy.pt", "last.ckpt"},
               {"big-endian.pt", "weights.pt"},  {"deflated.pt", "pytorch_model.bin"},
               {"training-5.pt", "step-10.ckpt"}};
  for (const Words& command : kPytorchCommands) {
    const std::string expected = printed_by(command, reference);
    for (const auto& [file, name] : forms) {
      SCOPED_TRACE(file);
      const TempFolder folder;
      make_model(folder, kFiles / file, name);
      EXPECT_EQ(printed_by(command, folder), expected);
    }
  }
}

TEST(PyTorchCommands, ShardsPrintTheSameBytes) {
  const TempFolder reference, sharded;
  make_model(reference, kFiles / "reference/model.safetensors", "model.safetensors");
  for (const std::string& name : files_in(kFiles / "sharded")) {
    make_model(sharded, kFiles / "sharded" / name, name);
  }
  for (const Words& command : kPytorchCommands) {
    EXPECT_EQ(printed_by(command, sharded), printed_by(command, reference));
  }
}

TEST(PyTorchCommands, RejectsAMaliciousPickleInOneLine) {
  const TempFolder folder;
  const std::string harm =
      pickled_call(pickled_global("posix", "system"), {pickled("touch harmed")});
  folder.write("m/config.json", read_file(kFiles / "reference/config.json"));
  folder.write("m/pytorch_model.bin", torch_archive(pickle(harm), {}));
  expect_refusal({"spectrum", "m"}, /*exit_code=*/4,
                 {"m/pytorch_model.bin", "data.pkl", "names 'posix.system'"},
                 {.folder = folder.path()});
  EXPECT_FALSE(fs::exists(folder.path() / "harmed"));
}

TEST(PyTorchCommands, NotesSkippedTensors) {
  const TempFolder folder;
  const TorchTensor query = {.count = 256, .shape = {16, 16}, .strides = {16, 1}};
  const std::string sparse =
      pickled_call(pickled_global("torch._utils", "_rebuild_sparse_tensor"), {"N", "N"});
  folder.write("m/config.json", read_file(kFiles / "reference/config.json"));
  folder.write(
      "m/pytorch_model.bin",
      torch_archive(pickle(pickled_dict({{"model.layers.0.self_attn.q_proj.weight", pickled(query)},
                                         {"model.extra", sparse}})),
                    {{"0", std::string(1024, '\1')}}));
  const RunResult run = run_attnscope({"spectrum", "m"}, {.folder = folder.path()});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "tensor 'model.extra' is skipped: it is sparse")) << run.err;
}

}  // namespace
}  // namespace attnscope::test
