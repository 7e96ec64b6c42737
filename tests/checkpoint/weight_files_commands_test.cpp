// Checkpoints of several shards whose index disagrees with the shards.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// tests/data/llama, which has two shards, with a different index.
class WeightFileNames : public testing::Test {
 protected:
  WeightFileNames() {
    fs::copy(data_path("llama"), folder_.path() / "llama");
    index_ = json::parse(read_file(data_path("llama") + "/model.safetensors.index.json"));
  }
  std::string write() {
    folder_.write("llama/model.safetensors.index.json", index_.dump());
    return (folder_.path() / "llama").string();
  }
  json& shard_of(const std::string& tensor) { return index_["weight_map"][tensor]; }

  TempFolder folder_;
  json index_;
  const std::string norm_ = "model.layers.0.input_layernorm.weight";
};

TEST_F(WeightFileNames, WarnsPerTensorUnlessQuiet) {
  const std::string expected = output_of({"info", data_path("llama"), "--format", "json"});
  const std::string first = "model-00001-of-00002.safetensors";
  const std::string second = "model-00002-of-00002.safetensors";
  const std::string moved = "lm_head.weight";
  shard_of(moved) = shard_of(moved) == first ? second : first;
  index_["weight_map"].erase(norm_);
  shard_of("model.layers.9.ghost.weight") = second;
  const std::string path = write();
  for (const Words& command : {Words{"info", path}, Words{"spectrum", path},
                               Words{"matrix", path, "--layer", "0", "--matrix", "q"},
                               Words{"spectrum", path, "--tensor", moved}}) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_EQ(run.exit_code, 0);
    const Words lines = lines_of(run.err);
    EXPECT_EQ(lines.size(), 3u) << run.err;
    for (const std::string& line : lines) {
      EXPECT_TRUE(line.starts_with("attnscope: warning: ")) << line;
    }
    for (const std::string& tensor : {moved, norm_, std::string("model.layers.9.ghost.weight")}) {
      EXPECT_TRUE(contains(run.err, tensor)) << run.err;
    }
    const RunResult quiet = run_attnscope(command + Words{"--quiet"});
    EXPECT_EQ(quiet.exit_code, 0);
    EXPECT_EQ(quiet.err, "");
    EXPECT_EQ(quiet.out, run.out);
  }
  // Tensors are the union of both, so no tensor is missing.
  EXPECT_EQ(output_of({"info", path, "--format", "json", "--quiet"}), expected);
}

TEST_F(WeightFileNames, SkipsANeededTensorThatIsInNoShard) {
  // The tensor is not in the shards: the config requests a third layer that only the index lists.
  json config = json::parse(read_file(data_path("llama") + "/config.json"));
  config["num_hidden_layers"] = 3;
  folder_.write("llama/config.json", config.dump());
  const std::string missing = "model.layers.2.self_attn.q_proj.weight";
  shard_of(missing) = "model-00002-of-00002.safetensors";
  const RunResult run =
      run_attnscope({"spectrum", write(), "--matrix", "q", "--format", "json", "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["rows"].size(), 2u);
  ASSERT_EQ(report["skipped"].size(), 1u);
  EXPECT_EQ(report["skipped"][0]["layer"], 2);
  EXPECT_EQ(report["skipped"][0]["reason"],
            "tensor '" + missing + "' is missing: the index assigns it to " +
                "model-00002-of-00002.safetensors, which does not contain it");
}

TEST_F(WeightFileNames, OneShardOfTwoGivesItsOwnRows) {
  const std::string folder = write();
  const std::string gone = "model-00002-of-00002.safetensors";
  const json whole = report_of({"spectrum", folder, "--matrix", "q,k,v,o,qk,kv"});
  fs::remove(folder + "/" + gone);
  const Words commands[] = {
      {"spectrum", folder, "--matrix", "q,k,v,o,qk,kv"},
      {"spectrum", folder, "--matrix", "q,k,v,o,qk,kv", "--store", folder + "/rows.sqlite"},
      {"weights", folder},
      {"similarity", folder},
      {"circuits", folder},
      {"circuits", folder, "--composition", "--store", folder + "/rows.sqlite"},
      {"spectrum", folder, "--mla"},
      {"info", folder},
  };
  for (const Words& command : commands) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command + Words{"--format", "json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(contains(run.err, "warning: " + folder + "/" + gone)) << run.err;
    EXPECT_TRUE(contains(run.err, "is missing, which affects")) << run.err;
    if (!contains(command_text(command), "kv")) continue;
    // Each row equals that of the whole model, or is in `skipped` with the tensor and its shard.
    const json report = json::parse(run.out);
    EXPECT_GT(report["rows"].size(), 0u);
    EXPECT_GT(report["skipped"].size(), 0u);
    EXPECT_EQ(report["rows"].size() + report["skipped"].size(), whole["rows"].size());
    for (const json& row : report["rows"]) {
      EXPECT_NE(std::find(whole["rows"].begin(), whole["rows"].end(), row), whole["rows"].end());
    }
    for (const json& entry : report["skipped"]) {
      EXPECT_TRUE(contains(entry["reason"].get<std::string>(), gone + ", which is missing"));
    }
  }
}

TEST_F(WeightFileNames, ATruncatedShardIsABadFile) {
  const fs::path shard = folder_.path() / "llama/model-00002-of-00002.safetensors";
  fs::permissions(shard, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(shard, fs::file_size(shard) - 100);
  expect_refusal({"spectrum", write()}, 4, {"model-00002-of-00002.safetensors"});
}

TEST_F(WeightFileNames, QuietDoesNotSilenceErrors) {
  expect_refusal({"spectrum", data_path("absent"), "--quiet"}, 3, {"absent"});
}

}  // namespace
}  // namespace attnscope::test
