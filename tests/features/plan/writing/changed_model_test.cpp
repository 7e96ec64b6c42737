#include "attnscope/features/common/changed_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "attnscope/features/plan/writing/checkpoint_writer.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data";

double value_after(double value, DType dtype) {
  const std::vector<std::byte> bytes = encode(std::span(&value, 1), dtype);
  double out = 0;
  decode_elements(TensorView{.dtype = dtype, .shape = {1}, .bytes = bytes}, 0, 1, 1, &out);
  return out;
}

TEST(Encode, RoundsOnceToTheNearest) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const double exact : {0.0, 1.0, -2.5, 0.375, 256.0}) {
      EXPECT_EQ(value_after(exact, dtype), exact);
    }
  }
  EXPECT_EQ(value_after(1 + 0x1p-8, DType::bf16), 1);  // a tie rounds to even
  // Above the tie by less than float32 resolves: rounding twice would return to the tie.
  EXPECT_EQ(value_after(1 + 0x1p-8 + 0x1p-40, DType::bf16), 1 + 0x1p-7);
  EXPECT_EQ(value_after(1 + 0x1p-11 + 0x1p-40, DType::f16), 1 + 0x1p-10);
  EXPECT_EQ(value_after(0x1p-25 + 0x1p-60, DType::f16), 0x1p-24);
  EXPECT_EQ(value_after(1e6, DType::f16), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value_after(std::nan(""), DType::bf16)));
  EXPECT_TRUE(std::isnan(value_after(std::nan(""), DType::f16)));
}

/// Replaces every matrix of every layer by itself. Nothing else may change.
class SameModel : public ::testing::TestWithParam<const char*> {};

TEST_P(SameModel, EveryMatrixReturnsToItsTensor) {
  const Model model = Model::open(kData / GetParam());
  ChangedModel changed(model);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    LayerMatrices all;
    for (const Role role : kProjections) {
      if (model.weight(layer, role).tensor == nullptr) continue;
      all.weights.emplace(role, canonical_matrix(model, layer, role));
      const std::vector<double> bias = canonical_bias(model, layer, role);
      if (!bias.empty()) all.biases.emplace(role, bias);
    }
    changed.set_layer(layer, all);
  }
  const Model opened = changed.open();
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const CheckpointTensor* own = opened.checkpoint().find(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_TRUE(same_elements(own->view, tensor.view)) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SameModel,
                         ::testing::Values("gpt2", "llama", "bert", "gpt_neox", "phi3", "opt",
                                           "gemma2", "bloom", "falcon"));

TEST(ChangedModel, KeepsUnknownKeysOfTheConfig) {
  const Model model = Model::open(kData / "llama");
  ChangedModel changed(model);
  changed.set_config("hidden_act", "\"gelu\"");
  changed.set_config("made_up", "[1, 2]");
  const auto before = nlohmann::json::parse(model.spec().text);
  auto after = nlohmann::json::parse(changed.config_text());
  EXPECT_EQ(after["hidden_act"], "gelu");
  EXPECT_EQ(after["made_up"], nlohmann::json::parse("[1, 2]"));
  after.erase("made_up");
  after["hidden_act"] = before["hidden_act"];
  EXPECT_EQ(after, before);
}

TEST(ChangedModel, KeepsNanAndInfinityInTheConfig) {
  const TempFolder folder;
  std::string config = Model::open(kData / "llama").spec().text;
  config.insert(config.find('{') + 1, R"("time_step_limit": [0.0, Infinity], "made_up": NaN,)");
  folder.write("config.json", config);
  for (const auto& entry : fs::directory_iterator(kData / "llama")) {
    if (entry.path().filename() == "config.json") continue;
    fs::create_symlink(entry.path(), folder.path() / entry.path().filename());
  }
  const Model model = Model::open(folder.path());
  const std::string written = ChangedModel(model).config_text();
  EXPECT_NE(written.find("    Infinity\n"), std::string::npos) << written;
  EXPECT_NE(written.find("\"made_up\": NaN,\n"), std::string::npos) << written;
}

TEST(ModelWriter, WritesShardsThatCanBeReadBack) {
  const TempFolder scratch;
  const Model model = Model::open(kData / "gpt2");
  const fs::path path = scratch.path() / "written";
  NewFolder folder(path);
  EXPECT_FALSE(fs::exists(path));
  write_model(ChangedModel(model), model.checkpoint().folder(),
              {.shard_bytes = 4000, .card = "# made\n"}, folder, {});
  folder.commit();
  EXPECT_TRUE(fs::exists(path / "model.safetensors.index.json"));
  const Model written = Model::open(path);
  EXPECT_GT(written.checkpoint().files().size(), 2u);
  EXPECT_TRUE(written.checkpoint().warnings().empty());
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const CheckpointTensor* own = written.checkpoint().find(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_TRUE(same_elements(own->view, tensor.view)) << tensor.name;
  }
}

TEST(NewFolder, LeavesNothingBehindUnlessComplete) {
  const TempFolder scratch;
  const fs::path path = scratch.path() / "out";
  {
    const NewFolder folder(path);
    folder.write("a.txt", "half");
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
  scratch.write("full/file", "x");
  EXPECT_ERROR_SAYING(ErrorKind::io, NewFolder(scratch.path() / "full"), "is not empty");
  EXPECT_ERROR_SAYING(ErrorKind::io, NewFolder(scratch.path() / "full/file"), "is a file");
  EXPECT_ERROR_SAYING(ErrorKind::io, NewFolder(scratch.path() / "none/there"), "cannot create");
}

TEST(ModelWriter, CopiesTokenizersButNoCode) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                           "vocab.json", "merges.txt", "chat_template.jinja", "LICENSE.md"}) {
    EXPECT_TRUE(goes_along(name)) << name;
  }
  for (const char* name : {"modeling_x.py", "tokenizer.py", "config.json", "model.safetensors",
                           "model.safetensors.index.json", "README.md"}) {
    EXPECT_FALSE(goes_along(name)) << name;
  }
}

}  // namespace
}  // namespace attnscope::test
