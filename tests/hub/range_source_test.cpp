// `--remote`: the same figures with only the needed bytes, and nothing cached.
#include "attnscope/base/text.h"
#include "tests/support/test_hub.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST(HubRemote, GivesTheSameFiguresAndCachesNothing) {
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

TEST(HubRemote, FetchesOnlyTheRequestedTensors) {
  TestHub hub;
  hub.offer("org/llama", "llama");
  output_of({"spectrum", "org/llama", "--remote", "--matrix", "q", "--layers", "0"}, hub.options());
  const json info = json::parse(output_of({"info", data_path("llama"), "--format", "json"}));
  const std::uint64_t width = info["models"][0]["hidden_size"];
  std::uint64_t headers = 0;
  for (const char* shard : {"model-00001-of-00002", "model-00002-of-00002"}) {
    const std::string bytes = read_file(data_path("llama") + "/" + shard + ".safetensors");
    headers +=
        8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  }
  // The first request for a file reads 512 bytes.
  EXPECT_LE(hub.sent_bytes(), headers + 4 * width * width + 2 * 512);
}

/// A GPTQ checkpoint with only a gate and an up matrix in one tensor. Its rows of packed words are
/// so long that a separate request for a part of each row saves bytes.
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

TEST(HubRemote, FetchesOnlyTheRequestedOutputsOfAFusedTensor) {
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

TEST(HubRemote, HandlesExpiredUrlsAndLostConnections) {
  TestHub hub;
  hub.offer("org/gpt2", "gpt2");
  hub.set_faults({{{"match", "GET cdn"}, {"times", 1}, {"cut", 100}},
                  {{"match", "GET cdn"}, {"after", 1}, {"times", 1}, {"status", 403}}});
  EXPECT_EQ(output_of({"spectrum", "org/gpt2", "--remote", "--quiet"}, hub.options()),
            output_of({"spectrum", data_path("gpt2"), "--quiet"}));
}

TEST(HubRemote, RejectsServersWithoutRanges) {
  TestHub hub;
  hub.offer("org/gpt2", "gpt2");
  hub.set_faults({{{"match", "GET cdn"}, {"ignore_range", true}}});
  expect_refusal({"spectrum", "org/gpt2", "--remote"}, 3,
                 {"does not support range requests", "omit --remote"}, hub.options());
  EXPECT_EQ(hub.sent_bytes() > 0, true);
}

/// Sizes of a checkpoint's safetensors files in bytes.
struct StoredBytes {
  std::uint64_t headers = 0, attention = 0;
};

/// Counts the layers below `layers`.
StoredBytes stored_bytes_of(const fs::path& folder, std::int64_t layers) {
  StoredBytes out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::uint64_t length = 0;
    file.read(reinterpret_cast<char*>(&length), sizeof length);
    std::string header(length, ' ');
    file.read(header.data(), static_cast<std::streamsize>(length));
    out.headers += sizeof length + length;
    const json tensors = json::parse(header);
    for (const auto& [name, tensor] : tensors.items()) {
      const Words parts = split(name, '.');
      if (parts.size() < 5 || parts[3] != "self_attn" || std::stoll(parts[2]) >= layers) continue;
      out.attention += tensor["data_offsets"][1].get<std::uint64_t>() -
                       tensor["data_offsets"][0].get<std::uint64_t>();
    }
  }
  return out;
}

/// 61 layers in 163 shards, like DeepSeek-V3. Experts are not read.
TEST(HubRemote, ReadsOnlyTheAttentionOfALargeModelAndResumes) {
  TestHub hub;
  const fs::path folder = hub.folder_of("org/deepseek");
  const std::string make = "python3 '" + source_path("tools/make_sparse_deepseek.py") + "' '" +
                           folder.string() + "' --experts 16";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const fs::path store = hub.home().parent_path() / "rows.db";
  const auto rows_of = [&](const std::string& layers, const Words& how) {
    hub.forget_requests();
    const Words command = {"spectrum", "--matrix", "q,k,v,o,kv", "--layers",
                           layers,     "--format", "json",       "--quiet"};
    json rows = json::parse(output_of(command + how, hub.options()))["rows"];
    for (json& row : rows) row.erase("model");
    return rows;
  };
  const Words remote = {"org/deepseek", "--remote", "--store", store.string()};
  // The length of a header is known only after the first request.
  const auto at_most = [](std::uint64_t headers, std::uint64_t bytes) {
    return headers + headers / 20 + bytes + bytes / 100;
  };

  rows_of("0-2", remote);
  const StoredBytes three = stored_bytes_of(folder, 3), six = stored_bytes_of(folder, 6);
  EXPECT_LE(hub.sent_bytes(), at_most(three.headers, three.attention));
  EXPECT_GE(hub.sent_bytes(), three.attention);
  // An index, then the start of each shard, with one request to each of the two hosts.
  EXPECT_LT(hub.requests().size(), 2u * 163 + 3 * 60);

  const json found = rows_of("0-5", remote);
  EXPECT_LE(hub.sent_bytes(), at_most(six.headers, six.attention - three.attention));
  EXPECT_EQ(found, rows_of("0-5", {folder.string()}));
  EXPECT_EQ(found, rows_of("0-5", remote));
  EXPECT_LE(hub.sent_bytes(), at_most(six.headers, 0)) << "all of it is stored";
}

TEST(HubRevisions, AreSeparateModels) {
  TestHub hub;
  for (const std::string revision : {"main", "step1", "step10", "step2"}) {
    hub.offer("org/name", "gpt_neox", revision);
  }
  const std::string table =
      output_of({"spectrum", "org/name@step*", "--matrix", "q", "--remote"}, hub.options());
  const Words lines = lines_of(table);
  EXPECT_TRUE(lines[0].starts_with("name  gpt_neox")) << table;
  // Each revision has a column per threshold.
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
