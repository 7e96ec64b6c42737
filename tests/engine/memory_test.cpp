// Memory of runs in addition to mapped files: rows are streamed, and a large matrix is read in
// blocks.
#include <map>

#include "tests/features/attention/attention_model.h"
#include "tests/support/llama_layer.h"
#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kMegabyte = 1'000'000;

/// Peak memory of a command that must exit with 0 and print nothing on stderr.
std::uint64_t peak_of(const Words& command) {
  SCOPED_TRACE(command_text(command));
  const RunResult run =
      run_attnscope(command, {.timeout = std::chrono::milliseconds(240s), .measures_memory = true});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.peak_bytes;
}

/// Narrow layers with many heads, so that rows take nearly all of the memory.
std::string many_heads(const TempFolder& folder, std::int64_t layers) {
  constexpr std::int64_t kHeads = 32, kWidth = 64;
  TinyLlama model(0);
  model.config["num_hidden_layers"] = layers;
  model.config["hidden_size"] = kWidth;
  model.config["num_attention_heads"] = model.config["num_key_value_heads"] = kHeads;
  model.config["head_dim"] = kWidth / kHeads;
  model.tensors.clear();
  std::uint64_t seed = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const char matrix : {'q', 'k', 'v', 'o'}) {
      model.tensors.push_back(
          random_tensor(TinyLlama::attention_name(layer, matrix), {kWidth, kWidth}, ++seed));
    }
  }
  return model.write(folder, "many-heads");
}

std::size_t lines_in(const fs::path& path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

TEST(Memory, CompositionOfManyHeadsStreams) {
  // 0.2 million rows, which would take 0.25 GB at once.
  constexpr std::int64_t kLayers = 12, kPairs = kLayers * (kLayers - 1) / 2;
  constexpr std::size_t kRows = kPairs * 3 * 32 * 32;
  const TempFolder folder;
  const Words command = {"circuits", many_heads(folder, kLayers), "--composition", "--threads",
                         "2"};
  const fs::path out = folder.path() / "out";
  for (const char* format : {"json", "csv"}) {
    EXPECT_LT(peak_of(command + Words{"--format", format, "--out", out.string()}), 120 * kMegabyte)
        << format;
    EXPECT_GT(lines_in(out), kRows);
  }
}

TEST(Memory, ReadsALargeMatrixInBlocks) {
  const TempFolder folder;
  const LlamaLayer layer(folder, 1536, 12288);
  // The triangle of the Gram matrix takes 9 MB. The matrix in float32 alone would take 75 MB.
  const std::uint64_t peak =
      peak_of({"spectrum", layer.weights, "--layout", layer.layout, "--matrix", "gate", "--layers",
               "0", "--memory", "20M", "--threads", "1", "--quiet", "--format", "csv"});
  EXPECT_LT(peak, 60 * kMegabyte);
  EXPECT_GT(peak, 20 * kMegabyte) << "was it measured?";
}

/// Three layers in which second moments, weight copies and factors take most of a plan's memory.
std::string wide_layers(const TempFolder& folder) {
  constexpr std::int64_t kWidth = 512, kMlp = 1408, kHeads = 8, kKvHeads = 4, kHeadDim = 64;
  TinyLlama model(3);
  model.config["hidden_size"] = kWidth;
  model.config["intermediate_size"] = kMlp;
  model.config["num_attention_heads"] = kHeads;
  model.config["num_key_value_heads"] = kKvHeads;
  model.config["head_dim"] = kHeadDim;
  model.config["max_position_embeddings"] = 256;
  const std::map<std::int64_t, std::int64_t> wide = {
      {TinyLlama::kWidth, kWidth}, {TinyLlama::kMlp, kMlp}, {8, kKvHeads * kHeadDim}};
  std::uint64_t seed = 0;
  for (TensorToWrite& tensor : model.tensors) {
    for (std::int64_t& side : tensor.shape) side = wide.contains(side) ? wide.at(side) : side;
    tensor = random_tensor(tensor.name, tensor.shape, ++seed);
  }
  for (const std::string layer : {"0", "1", "2"}) {
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      model.tensors.push_back(
          random_tensor("model.layers." + layer + "." + norm + ".weight", {kWidth}, ++seed));
    }
  }
  return model.write(folder, "wide");
}

/// "peak memory about 123 MB on top of the model".
std::uint64_t declared_byte_count(const std::string& notes) {
  const std::string before = "peak memory about ";
  const std::size_t found = notes.find(before);
  if (found == notes.npos) return 0;
  return std::stoull(notes.substr(found + before.size())) * kMegabyte;
}

TEST(Memory, PlansStayWithinTheDeclaredMemory) {
  const TempFolder folder;
  const std::string model = wide_layers(folder);
  const auto file = fs::file_size(fs::path(model) / "model.safetensors");
  const std::string tokens =
      folder.write("tokens.bin", shard_bytes(random_tokens(1200, 10))).string();
  for (const Words& form : {Words{"--set", "remove-layers=1"},
                            {"--set", "mlp=1280"},
                            {"--set", "hidden-size=448"},
                            {"--set", "mla=128+128"},
                            {"--method", "low-rank", "--keep", "0.8"}}) {
    SCOPED_TRACE(command_text(form));
    const Words command = {
        "plan",     model, "--calibration-token-file", tokens, "--sequences", "4",
        "--length", "256", "--probe-tokens",           "256",  "--threads",   "2"};
    const RunResult run = run_attnscope(
        command + form, {.timeout = std::chrono::milliseconds(240s), .measures_memory = true});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const std::uint64_t said = declared_byte_count(run.err), held = run.peak_bytes - file;
    EXPECT_LE(held, said) << run.err;
    EXPECT_GE(3 * held, said) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
