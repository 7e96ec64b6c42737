// `--remote`: the same figures, with no more bytes than they need and none kept.
#include "tests/cli/tiny_llama.h"
#include "tests/support/test_hub.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST(HubRemote, GivesTheSameFiguresAndKeepsNothing) {
  TestHub hub;
  for (const std::string name : {"llama", "gpt2", "pytorch"}) {
    if (!fs::exists(data_path(name) + "/config.json")) continue;
    hub.offer("org/" + name, name);
    for (const std::string command : {"spectrum", "weights", "circuits"}) {
      const Words words = {command, "--format", "csv"};
      EXPECT_EQ(output_of(words + Words{"org/" + name, "--remote"}, hub.options()),
                output_of(words + Words{data_path(name)}));
    }
  }
  EXPECT_FALSE(fs::exists(hub.home()));
}

TEST(HubRemote, FetchesOnlyTheTensorsThatAreAskedFor) {
  TestHub hub;
  hub.offer("org/llama", "llama");
  output_of({"spectrum", "org/llama", "--remote", "--matrix", "q", "--layers", "0"}, hub.options());
  const json info = json::parse(output_of({"info", data_path("llama"), "--format", "json"}));
  const std::uint64_t width = info["models"][0]["width"];
  std::uint64_t headers = 0;
  for (const char* shard : {"model-00001-of-00002", "model-00002-of-00002"}) {
    const std::string bytes = read_file(data_path("llama") + "/" + shard + ".safetensors");
    headers +=
        8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  }
  // The first look at a file is at 512 bytes.
  EXPECT_LE(hub.sent_bytes(), headers + 4 * width * width + 2 * 512);
}

/// A GPTQ checkpoint of nothing but a gate and an up matrix in one tensor, whose rows of words are
/// so long that a part of each is worth a request.
std::uint64_t write_wide(const fs::path& folder) {
  constexpr std::int64_t kWidth = 64, kMlp = 147'456;
  const json config = {
      {"model_type", "phi3"},
      {"hidden_size", kWidth},
      {"intermediate_size", kMlp},
      {"num_hidden_layers", 1},
      {"num_attention_heads", 2},
      {"vocab_size", 8},
      {"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", kWidth}}}};
  const std::string name = "model.layers.0.mlp.gate_up_proj";
  TensorToWrite words = random_tensor(name + ".qweight", {kWidth / 8, 2 * kMlp}, 1);
  words.dtype = "I32";
  TensorToWrite scales = zero_tensor(name + ".scales", "F16", 16, {1, 2 * kMlp});
  for (std::size_t at = 1; at < scales.bytes.size(); at += 2) scales.bytes[at] = '\x3C';
  const std::string file = safetensors_bytes(
      {words, zero_tensor(name + ".qzeros", "I32", 32, {1, 2 * kMlp / 8}), scales});
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  std::ofstream(folder / "model.safetensors", std::ios::binary) << file;
  return file.size();
}

TEST(HubRemote, FetchesTheOutputsOfAFusedTensorThatAreAskedFor) {
  TestHub hub;
  const fs::path folder = hub.folder_of("org/wide");
  const std::uint64_t bytes = write_wide(folder);
  const auto rows = [&](const std::string& matrix, const Words& model) {
    const Words command = Words{"spectrum", "--format", "json", "--matrix", matrix} + model;
    json found = json::parse(output_of(command, hub.options()))["rows"];
    for (json& row : found) row.erase("model");
    return found;
  };
  const Words remote = {"org/wide", "--remote"}, local = {folder.string()};
  EXPECT_EQ(rows("gate", remote), rows("gate", local));
  EXPECT_LT(hub.sent_bytes(), bytes * 6 / 10);
  hub.forget_requests();
  EXPECT_EQ(rows("gate,up", remote), rows("gate,up", local));
  EXPECT_LT(hub.sent_bytes(), bytes + 4096);
  EXPECT_LT(hub.requests().size(), 12u) << "the tensor was asked for in more parts than it needs";
}

TEST(HubRemote, SurvivesAddressesThatExpireAndConnectionsThatAreCut) {
  TestHub hub;
  hub.offer("org/gpt2", "gpt2");
  hub.set_faults({{{"match", "GET cdn"}, {"times", 1}, {"cut", 100}},
                  {{"match", "GET cdn"}, {"after", 1}, {"times", 1}, {"status", 403}}});
  EXPECT_EQ(output_of({"spectrum", "org/gpt2", "--remote", "--quiet"}, hub.options()),
            output_of({"spectrum", data_path("gpt2"), "--quiet"}));
}

TEST(HubRemote, RefusesServersWithoutRanges) {
  TestHub hub;
  hub.offer("org/gpt2", "gpt2");
  hub.set_faults({{{"match", "GET cdn"}, {"ignore_range", true}}});
  expect_refusal({"spectrum", "org/gpt2", "--remote"}, 3,
                 {"gives no parts of files", "leave --remote out"}, hub.options());
  EXPECT_EQ(hub.sent_bytes() > 0, true);
}

TEST(HubRevisions, AreModelsSideBySide) {
  TestHub hub;
  for (const std::string revision : {"main", "step1", "step10", "step2"}) {
    hub.offer("org/name", "gpt_neox", revision);
  }
  const std::string table =
      output_of({"spectrum", "org/name@step*", "--matrix", "q", "--remote"}, hub.options());
  const Words lines = lines_of(table);
  EXPECT_TRUE(lines[0].starts_with("name  gpt_neox")) << table;
  // Each has a column for each threshold.
  EXPECT_EQ(words_of(lines[2]), (Words{"layer", "q", "q", "q", "q", "q", "q"}));
  EXPECT_EQ(words_of(lines[3]), (Words{"step1", "step1", "step2", "step2", "step10", "step10"}));

  const std::string two_named = output_of(
      {"spectrum", "org/name@step1", "org/name@step10", "org/name@step1", "--format", "csv"},
      hub.options());
  EXPECT_TRUE(contains(two_named, "name@step10,"));
  EXPECT_EQ(output_of({"spectrum", "org/name@step*", "--format", "csv"}, hub.offline()), two_named);
}

}  // namespace
}  // namespace attnscope::test
