// Which inputs a store treats as the same item: nothing is computed twice, and no row is wrong.
#include <cstring>

#include "tests/support/store_command.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST_F(CliStore, OnlyAChangedTensorIsRecomputed) {
  TinyLlama model(2);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 14);
  set_element(model.attention(1, 'v'), 0, 0, 7);
  model.write(folder_, "model");
  expect_computed({"spectrum", path}, 1);
  EXPECT_EQ(exported(), output_of({"spectrum", path})) << "the old rows have left the views";
}

TEST_F(CliStore, DetectsAChangeThatKeepsSizeAndTime) {
  TinyLlama model(1);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 7);
  const fs::path weights = fs::path(path) / "model.safetensors";
  const auto time = fs::last_write_time(weights);
  set_element(model.attention(0, 'q'), 0, 0, 7);
  model.write(folder_, "model");
  fs::last_write_time(weights, time);
  expect_computed({"spectrum", path}, 1);
}

TEST_F(CliStore, FindsTheSameContentAtAnotherPath) {
  const TinyLlama model(2);
  const std::string path = model.write(folder_, "model");
  expect_computed({"spectrum", path}, 14);
  fs::last_write_time(fs::path(path) / "model.safetensors", fs::file_time_type::clock::now());
  expect_computed({"spectrum", path}, 0);
  const std::string copy = model.write(folder_, "copy");
  expect_computed({"spectrum", copy}, 0);
  expect_computed({"spectrum", path, copy}, 0);
  EXPECT_EQ(exported(), output_of({"spectrum", path, copy}));
}

TEST_F(CliStore, ComputesEqualContentOnceInOneRun) {
  const TinyLlama model(2);
  expect_computed({"spectrum", model.write(folder_, "a"), model.write(folder_, "b")}, 14);
}

TEST_F(CliStore, ItemsIncludeEveryParameterThatChangesTheNumbers) {
  const std::string path = TinyLlama(2).write(folder_, "model");
  const Words spectrum = {"spectrum", path, "--matrix", "q,k"};
  expect_computed(spectrum, 4);
  expect_computed(spectrum + Words{"--layers", "0", "--threads", "1", "--format", "csv"}, 0);
  expect_computed({"spectrum", path, "--matrix", "k,q,v"}, 2);
  for (const Words& option : {Words{"--energy", "0.5"}, Words{"--per-head"}, Words{"--values"},
                              Words{"--rank", "3"}, Words{"--rank", "0.1D"}}) {
    expect_computed(spectrum + option, 4);
  }
  const Words weights = {"weights", path, "--matrix", "q"};
  for (const Words& option :
       {Words{}, Words{"--histogram"}, Words{"--histogram", "--bins", "7"},
        Words{"--histogram", "--range", "-1,1"}, Words{"--histogram", "--bins", "fd"}}) {
    expect_computed(weights + option, 2);
  }
}

TEST_F(CliStore, ItemsIncludeTheVariantOfACircuit) {
  TinyLlama model(2);
  for (int layer = 0; layer < 2; ++layer) {
    model.tensors.push_back(random_tensor(
        "model.layers." + std::to_string(layer) + ".input_layernorm.weight", {16}, 90 + layer));
  }
  const auto changed = [&](const Words& options, long count) {
    expect_computed(Words{"circuits", model.write(folder_, "model")} + options, count);
  };
  changed({}, 4);
  changed({"--fold-norm"}, 4);
  changed({"--rope-offset", "-1"}, 4);
  set_element(model.attention(0, 'q'), 0, 0, 7);
  changed({}, 1);
  TensorToWrite& gain = model.tensor("model.layers.1.input_layernorm.weight");
  const float twice = 2;
  std::memcpy(gain.bytes.data(), &twice, sizeof twice);
  changed({"--fold-norm"}, 3);  // both circuits of layer 1, and qk of layer 0
  changed({}, 0);
  model.config["rope_theta"] = 500.0;
  changed({"--rope-offset", "-1"}, 2);  // qk of both layers
  changed({}, 0);
}

TEST_F(CliStore, ItemsIncludeHowATensorIsSplit) {
  TinyLlama model(1);
  const Words options = {"--matrix", "q", "--per-head"};
  expect_computed(Words{"spectrum", model.write(folder_, "model")} + options, 1);
  model.config["num_attention_heads"] = 2;
  model.config["head_dim"] = 8;
  model.config["num_key_value_heads"] = 1;
  expect_computed(Words{"spectrum", model.write(folder_, "model")} + options, 1);
}

TEST_F(CliStore, ItemsIncludeTheScaleOfAQuantizedWeight) {
  TinyLlama model(1);
  model.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "F8_E4M3", 8, {16, 16});
  const Words command = {"spectrum", model.write(folder_, "model"), "--matrix", "q"};
  expect_computed(command, 1);
  model.tensors.push_back(
      counting_tensor(TinyLlama::attention_name(0, 'q') + "_scale_inv", {1, 1}));
  model.write(folder_, "model");
  expect_computed(command, 1);
}

TEST_F(CliStore, RestoresSkippedMatricesAndNotes) {
  TinyLlama model(2);
  set_element(model.attention(0, 'q'), 1, 2, std::numeric_limits<float>::quiet_NaN());
  const std::string path = model.write(folder_, "model");
  for (const std::string format : {"json", "csv", "table"}) {
    const Words command = {"spectrum", path, "--per-head", "--format", format};
    const std::string plain = output_of(command);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(exported({"--format", format}), plain);
  }
  // A note goes to stderr in each run.
  const Words fd = {"weights", path, "--matrix", "v", "--histogram", "--bins", "fd"};
  const RunResult plain = run_attnscope(fd);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(run_attnscope(stored(fd)).err, plain.err);
}

TEST_F(CliStore, ProvenanceNamesFileTensorHashAndVersion) {
  const std::string path = TinyLlama(1).write(folder_, "model");
  output_of(stored({"spectrum", path, "--matrix", "q"}));
  const auto rows =
      query(store(), "SELECT file, bytes, tensor, length(hash), version FROM sources");
  ASSERT_EQ(rows.size(), 1u);
  const fs::path weights = fs::canonical(fs::path(path) / "model.safetensors");
  EXPECT_EQ(rows[0][0], weights.string());
  EXPECT_EQ(rows[0][1], std::to_string(fs::file_size(weights)));
  EXPECT_EQ(rows[0][2], TinyLlama::attention_name(0, 'q'));
  EXPECT_EQ(rows[0][3], "32");
  EXPECT_EQ("attnscope " + rows[0][4] + "\n", output_of({"--version"}));
}

}  // namespace
}  // namespace attnscope::test
